import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually, otlpReceiver, type OtlpReceiver } from '@cortex/testing';
import { Client, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { RunningCortex } from './running.js';

// What the README promises, in its order, with nothing of ours but the launcher.
const device = 'laptop';
let collector: OtlpReceiver;
let cortex: RunningCortex;
beforeAll(async () => {
  collector = await otlpReceiver();
  cortex = await RunningCortex.start({
    env: { CORTEX_TRACE_SAMPLE: '1', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' },
  });
  await cortex.device(device);
});
afterAll(async () => {
  await cortex[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

const info = { name: 'newcomer', version: '1' };
const headers = (): Record<string, string> => ({ Authorization: `Bearer ${cortex.token}` });
const url = (path = '/mcp'): URL => new URL(path, cortex.state.endpoint);
const REMOTE = ['remote_bash', 'remote_edit', 'remote_glob', 'remote_grep', 'remote_read', 'remote_write'];

interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

const clients: [string, () => Promise<AnyClient>][] = [
  [
    'the SDK v2 client, without a session',
    async () => {
      const client = new Client(info, { versionNegotiation: { mode: 'auto' } });
      await client.connect(new ModernTransport(url(), { requestInit: { headers: headers() } }));
      return client as AnyClient;
    },
  ],
  [
    'the SDK v1 client, in a session',
    async () => {
      const client = new OldClient(info);
      await client.connect(new StreamableHTTPClientTransport(url(), { requestInit: { headers: headers() } }));
      return client as AnyClient;
    },
  ],
  [
    'a client of HTTP+SSE',
    async () => {
      const client = new OldClient(info);
      const listen = (to: string | URL, init?: RequestInit): Promise<Response> =>
        fetch(to, { ...init, headers: { ...headers(), Accept: 'text/event-stream' } });
      await client.connect(
        new SSEClientTransport(url('/sse'), {
          requestInit: { headers: headers() },
          eventSourceInit: { fetch: listen as never },
        }),
      );
      return client as AnyClient;
    },
  ],
];

it.each(clients)('%s lists the tools and works on a machine with all six of them', async (name, connect) => {
  const client = await connect();
  const { tools } = await client.listTools();
  expect(tools.map((tool) => tool.name)).toEqual(expect.arrayContaining(['whoami', 'current_time', ...REMOTE]));
  const call = (tool: string, args: Record<string, unknown>): Promise<unknown> =>
    client.callTool({ name: tool, arguments: { device, ...args } });
  const says = (text: string): object => ({ content: [{ type: 'text', text: expect.stringContaining(text) }] });

  const file_path = join(cortex.dir, `${name.replaceAll(/\W+/g, '-')}.txt`);
  expect(await call('remote_write', { file_path, content: 'one fish\ntwo fish\n' })).toMatchObject(says('Created'));
  const edit = { file_path, old_string: 'one', new_string: 'red' };
  await call('remote_read', { file_path });
  expect(await call('remote_edit', edit)).not.toMatchObject({ isError: true });
  expect(await call('remote_read', { file_path })).toMatchObject(says('red fish'));
  expect(await call('remote_glob', { pattern: '*.txt', path: cortex.dir })).toMatchObject(says(file_path));
  expect(await call('remote_grep', { pattern: 'red f.sh', path: cortex.dir })).toMatchObject(says(file_path));
  expect(await call('remote_bash', { command: `tail -n 1 ${file_path}` })).toMatchObject(says('two fish'));

  const image = join(cortex.dir, 'pixel.png');
  await writeFile(image, Buffer.from(PIXEL, 'base64'));
  expect(await call('remote_read', { file_path: image })).toMatchObject({
    content: expect.arrayContaining([expect.objectContaining({ type: 'image', data: PIXEL, mimeType: 'image/png' })]),
  });
  const pdf = join(cortex.dir, 'page.pdf');
  await writeFile(pdf, PDF);
  const blob = Buffer.from(PDF).toString('base64');
  expect(await call('remote_read', { file_path: pdf })).toMatchObject({
    content: expect.arrayContaining([
      expect.objectContaining({
        type: 'resource',
        resource: expect.objectContaining({ blob, mimeType: 'application/pdf' }),
      }),
    ]),
  });
  await client.close();
});

it('cortex events prints those very calls, and audit keeps them as rows that a rebuild gives again', async () => {
  const { stdout } = await cortex.cortex(['events']);
  for (const tool of REMOTE)
    expect(stdout).toMatch(new RegExp(`call\\.remote-ops\\.${tool}  ToolCallFinished  succeeded`));
  expect(stdout).toContain('RemoteCommandCompleted');
  await cortex.caughtUp();
  const rows = (): Promise<Record<string, unknown>[]> => cortex.sql('select * from audit.tool_calls order by id');
  const kept = await rows();
  const calls = (await cortex.records()).filter(({ type }) => type === 'ToolCallFinished');
  expect(kept.map(({ id }) => id)).toEqual(calls.map(({ call_id }) => call_id).toSorted());
  expect(await cortex.cortex(['projections', 'rebuild', '--all'])).toMatchObject({ code: 0 });
  expect(await rows()).toEqual(kept);
});

it('P77 one trace, begun by the client, joins edge, service, commit and record of a call', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const client = '00f067aa0ba902b7';
  const args = { device, file_path: join(cortex.dir, 'traced'), content: 'x' };
  const answer = await cortex.call('remote_write', args, { traceparent: `00-${trace}-${client}-01` });
  expect(answer.ok).toBe(true);
  const spans = await eventually(() => {
    const found = collector.trace(trace);
    return found.some(({ name }) => name.startsWith('commit')) && found.some(({ kind }) => kind === 2) && found;
  });
  const ids = new Set([client, ...spans.map(({ spanId }) => spanId)]);
  expect(spans.filter(({ parentSpanId }) => !ids.has(parentSpanId ?? ''))).toEqual([]);
  expect(spans.map(({ service, name }) => `${service}: ${name}`)).toEqual(
    expect.arrayContaining([
      'mcp-edge: tools/call',
      'remote-ops: tool remote_write',
      'remote-ops: commit remote-ops.command',
    ]),
  );
  const records = await cortex.records();
  expect(cortex.endsOf(records, args)).toMatchObject([{ trace_id: trace, outcome: 'succeeded' }]);
});

/** One transparent pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PDF =
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n';
