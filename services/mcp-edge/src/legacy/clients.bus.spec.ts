import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { Client, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { breakingLine } from '../testing/breaking-line.js';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { ran, sampleService, seen } from '../testing/sample-tools.js';

let edge: EdgeFixture;
let headers: Record<string, string>;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService], env: { CORTEX_SSE_RETRY_MS: '50' } });
  headers = { Authorization: `Bearer ${await edge.token()}` };
});
afterAll(async () => edge[Symbol.asyncDispose]());

const info = { name: 'test', version: '1' };

describe('the SDK v2 client (2026-07-28)', () => {
  it('lists and calls tools', async () => {
    const client = new Client(info, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new ModernTransport(new URL(edge.url), { requestInit: { headers } }));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['whoami', 'current_time', 'sample_echo']));
    const answer = await client.callTool({ name: 'sample_echo', arguments: { text: 'hello' } });
    expect(answer.structuredContent).toEqual({ text: 'hello' });
    await client.close();
  });
});

describe('the SDK v1 client (2025-11-25)', () => {
  it('opens a session, lists, calls, and ends it', async () => {
    const client = new OldClient(info);
    const transport = new StreamableHTTPClientTransport(new URL(edge.url), { requestInit: { headers } });
    await client.connect(transport);
    expect(transport.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    const { tools } = await client.listTools();
    expect(tools[0]?.name).toBe('whoami');
    const answer = await client.callTool({ name: 'sample_echo', arguments: { text: 'hello' } });
    expect(answer.structuredContent).toEqual({ text: 'hello' });
    expect(await client.listPrompts()).toMatchObject({ prompts: [] });
    expect(await client.listResources()).toMatchObject({ resources: [{ uri: 'cortex://architecture' }] });
    expect(await client.listResourceTemplates()).toMatchObject({ resourceTemplates: [] });
    await client.ping();
    await client.setLoggingLevel('warning');
    await transport.terminateSession();
    await client.close();
  });

  it('cancels a call by its own signal', async () => {
    const client = new OldClient(info);
    await client.connect(new StreamableHTTPClientTransport(new URL(edge.url), { requestInit: { headers } }));
    const give = new AbortController();
    const before = ran('sample_slow');
    const call = client.callTool({ name: 'sample_slow', arguments: { ms: 15_000, mark: 'v1' } }, undefined, {
      signal: give.signal,
    });
    await eventually(() => ran('sample_slow') > before);
    give.abort();
    await expect(call).rejects.toThrow('aborted');
    await eventually(() => seen.cancelled.has('v1'));
    await client.close();
  });
});

describe('a call whose connection breaks has its answer all the same, and runs once', () => {
  const call = { name: 'sample_slow', arguments: { ms: 3_000, mark: 'cut' } };

  it('P12 with the SDK v1 client', async () => {
    await using line = await breakingLine(edge.origin);
    const client = new OldClient(info);
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${line.origin}/mcp`), { requestInit: { headers } }),
    );
    const before = ran('sample_slow');
    let cuts = 0;
    const onresumptiontoken = () => void (cuts++ < 2 && line.cut());
    const answer = await client.callTool(call, undefined, { onresumptiontoken });
    expect([answer.structuredContent, ran('sample_slow') - before, cuts]).toEqual([{ mark: 'cut' }, 1, 4]);
    await client.close();
  });

  it('P12 with the SDK v2 client', async () => {
    await using line = await breakingLine(edge.origin);
    const client = new Client(info);
    await client.connect(new ModernTransport(new URL(`${line.origin}/mcp`), { requestInit: { headers } }));
    expect(client.getProtocolEra()).toBe('legacy');
    const before = ran('sample_slow');
    let cuts = 0;
    const onresumptiontoken = () => void (cuts++ < 2 && line.cut());
    const answer = await client.callTool(call, { onresumptiontoken });
    expect([answer.structuredContent, ran('sample_slow') - before, cuts]).toEqual([{ mark: 'cut' }, 1, 4]);
    await client.close();
  });
});

describe('the SDK v1 client over HTTP+SSE (2024-11-05)', () => {
  it('lists and calls tools', async () => {
    const client = new OldClient(info);
    const transport = new SSEClientTransport(new URL(`${edge.origin}/sse`), {
      requestInit: { headers },
      eventSourceInit: {
        fetch: (url, init) => fetch(url, { ...init, headers: { ...headers, Accept: 'text/event-stream' } }),
      },
    });
    await client.connect(transport);
    const { tools } = await client.listTools();
    expect(tools[0]?.name).toBe('whoami');
    const answer = await client.callTool({ name: 'sample_echo', arguments: { text: 'hello' } });
    expect(answer.content).toEqual([{ type: 'text', text: '{"text":"hello"}' }]);
    await client.close();
  });
});
