import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge();
}, 60_000);
afterAll(async () => edge[Symbol.asyncDispose]());

it('answers a call with what the service wrote, and the record is stored by then', async () => {
  const { status, body } = await edge.call('sample_echo', { text: 'höllo' }, { id: 'x' });
  expect(status).toBe(200);
  expect(body).toEqual({
    jsonrpc: '2.0',
    id: 'x',
    result: {
      content: [{ type: 'text', text: '{"text":"höllo"}' }],
      structuredContent: { text: 'höllo' },
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'cortex-gateway', version: expect.any(String) } },
    },
  });
  const records = await edge.records();
  expect(records.map((record) => record.type)).toEqual(expect.arrayContaining(['ToolCallStarted', 'ToolCallFinished']));
});
