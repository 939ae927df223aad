import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BLOBS } from '@cortex/contracts';
import { type ContentBlock, defineService, defineTool, result } from '@cortex/service-kit';
import { eventually } from '@cortex/testing';
import { z } from 'zod';
import { backendEnv, json, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient } from '../testing/raw-client.js';

const scope = 'mcp:demo:read';
const large = randomBytes(5_000_000);
const small = Buffer.alloc(300_000, 'x');
const image = (bytes: Buffer) => ({ type: 'image' as const, data: bytes.toString('base64'), mimeType: 'image/png' });

/** One of our own that shows what it is told to show. */
const show = defineTool({
  name: 'sample_show',
  title: 'Show',
  description: 'Shows an image.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  input: z.object({}),
  output: z.object({ shown: z.boolean() }),
  handle: () => result({ shown: true }, { content: [image(large) as ContentBlock] }),
});

let demo: TestBackend;
let edge: EdgeFixture;
let reader: string;
let content: object[] = [];
beforeAll(async () => {
  demo = await testBackend([{ name: 'paint', scope, description: 'Paints.', params: {} }]);
  demo.answers['paint'] = (_asked, res) => json(res, 200, { content }, { 'x-cortex-result': 'mcp' });
  const service = defineService({ name: 'ticket', config: z.object({}), tools: [show] });
  edge = await startEdge({ beside: [service], env: backendEnv({ demo }) });
  await eventually(() => edge.edge.catalog.find('demo_paint') !== undefined);
  reader = await edge.token({ scope: `${scope} mcp:cortex:read` });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const paint = async (...blocks: object[]) => {
  content = blocks;
  return (await edge.call('demo_paint', {}, { token: reader })).body.result.content;
};
const read = async (uri: string, token = reader) => (await edge.ask('resources/read', { uri }, { token })).body;

describe('P71 an image that is too large for a result', () => {
  it('is linked in its place, and everything else of the result stays as it was', async () => {
    const text = { type: 'text', text: 'Painted' };
    const annotations = { audience: ['user'], priority: 0.5 };
    const blocks = await paint(text, { ...image(large), annotations, _meta: { mine: 1 } }, image(small));
    const digest = createHash('sha256').update(large).digest('hex');
    expect(blocks).toEqual([
      text,
      {
        type: 'resource_link',
        uri: `cortex://media/${digest.slice(0, 32)}`,
        name: 'image 2 of demo_paint',
        description: expect.stringMatching(/^5000000 bytes, too large/),
        mimeType: 'image/png',
        size: 5_000_000,
        annotations,
        _meta: { mine: 1, 'cortex/sha256': digest },
      },
      image(small),
    ]);
    const { result: found } = await read(blocks[1].uri);
    expect(found).toMatchObject({ cacheScope: 'private', contents: [{ uri: blocks[1].uri, mimeType: 'image/png' }] });
    expect(Buffer.from(found.contents[0].blob, 'base64').equals(large)).toBe(true);
  });

  it('is linked in results of our own services, and in embedded resources', async () => {
    const { result: shown } = (await edge.call('sample_show', {}, { token: reader })).body;
    expect(shown).toMatchObject({ content: [{ type: 'resource_link' }], structuredContent: { shown: true } });
    const resource = { uri: 'demo://film', mimeType: 'video/mp4', blob: large.toString('base64') };
    const [block] = await paint({ type: 'resource', resource });
    expect(block).toMatchObject({ type: 'resource_link', mimeType: 'video/mp4', size: 5_000_000 });
  });

  it('is kept once for a caller, however often it is shown', async () => {
    const bus = await edge.nats.busAs('provision');
    const kept = async () => (await bus.direct.last(BLOBS, 'cortex.blob.mcp-edge.>'))?.seq ?? 0;
    const [first] = await paint(image(large));
    const before = await kept();
    const [second] = await paint(image(large));
    expect([second.uri, await kept()]).toEqual([first.uri, before]);
    await bus.close();
  });

  it('T03 is read by the caller who was given the link, and by nobody else', async () => {
    const [{ uri }] = await paint(image(large));
    const others = [await edge.token({ sub: 'bob' }), await edge.token({ client_id: 'web' })];
    for (const token of others) {
      const { error } = await read(uri, token);
      expect([error.code, error.data]).toEqual([-32602, { uri }]);
    }
    expect((await read('cortex://media/0123456789abcdef0123456789abcdef')).error.code).toBe(-32602);
    expect((await read('cortex://media/../x')).error.code).toBe(-32602);
  });

  it('is read by a client whose only way is a tool, and by one of an older revision', async () => {
    const [{ uri }] = await paint(image(large));
    const byTool = (await edge.call('read_cortex_resource', { uri }, { token: reader })).body.result;
    expect(byTool.content[0].resource.blob).toHaveLength(Math.ceil(5_000_000 / 3) * 4);
    const body = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } };
    const { json: old } = await rawClient(edge.origin, reader).ask({ body });
    expect(old.result.contents[0].mimeType).toBe('image/png');
  });

  it('reaches nobody inside a result where its data is no base64; a text says so', async () => {
    const odd = { ...image(large), data: `${large.toString('base64').slice(0, -1)}!` };
    expect(await paint(odd)).toEqual([
      { type: 'text', text: expect.stringMatching(/^\[image left out.*no base64\]$/) },
    ]);
  });

  it('is kept where its base64 is broken into lines', async () => {
    const [{ uri }] = await paint({ ...image(large), data: large.toString('base64').replaceAll(/.{76}/g, '$&\r\n') });
    expect(Buffer.from((await read(uri)).result.contents[0].blob, 'base64').equals(large)).toBe(true);
  });

  it('has no mimeType that holds controls', async () => {
    const [{ uri, mimeType }] = await paint({ ...image(large), mimeType: 'image/png\r\nx: y' });
    const [found] = (await read(uri)).result.contents;
    expect([mimeType, found.mimeType]).toEqual(['application/octet-stream', 'application/octet-stream']);
  });

  it('is unknown when its day is over', async () => {
    const [{ uri }] = await paint(image(randomBytes(4_000_000)));
    const bus = await edge.nats.busAs('provision');
    await bus.request(`$JS.API.STREAM.PURGE.${BLOBS}`, '', { timeoutMs: 5_000 });
    expect((await read(uri)).error).toMatchObject({ code: -32602, data: { uri } });
    await bus.close();
  });

  it('is part of what a key gives again', async () => {
    content = [image(large)];
    const meta = { 'cortex/idempotencyKey': 'picture' };
    const first = (await edge.call('demo_paint', {}, { token: reader, meta })).body.result;
    content = [];
    const again = (await edge.call('demo_paint', {}, { token: reader, meta })).body.result;
    expect([first.content[0].type, again.content]).toEqual(['resource_link', first.content]);
  });
});

it('P69 what is too large and no bytes is whole', async () => {
  const text = { type: 'text', text: 'a'.repeat(6_000_000) };
  expect((await paint(text))[0].text).toHaveLength(6_000_000);
});
