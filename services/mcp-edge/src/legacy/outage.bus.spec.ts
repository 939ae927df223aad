import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { rawClient, type RawClient } from '../testing/raw-client.js';
import { sampleService } from '../testing/sample-tools.js';

let edge: EdgeFixture;
let raw: RawClient;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService] });
  raw = rawClient(edge.origin, await edge.token());
});
afterAll(async () => edge[Symbol.asyncDispose]());

const hello = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
};

it('a session outlives the bus: while it is away the client is told to wait, and goes on afterwards', async () => {
  const session = String((await raw.ask({ body: hello })).headers['mcp-session-id']);
  const headers = { 'mcp-session-id': session };
  const ping = { headers, body: { jsonrpc: '2.0', id: 1, method: 'ping' } };
  const stream = await raw.stream({ method: 'GET', headers });

  await edge.nats.kill();
  await eventually(() => !edge.app.host.bus.up);
  for (const ask of [ping, { body: hello }, { method: 'DELETE', headers }]) {
    const { status, headers: got, json } = await raw.ask(ask);
    expect([status, got['retry-after'], json.error.code]).toEqual([503, '1', -32603]);
  }
  expect((await raw.ask({ ...ping, headers: {} })).status).toBe(200);
  expect(stream.ended).toBe(false);

  await edge.nats.restart();
  await eventually(async () => (await raw.ask(ping)).status === 200, 15_000);
  const call = {
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: { name: 'sample_echo', arguments: { text: 'x' } },
  };
  await eventually(async () => (await raw.ask({ headers, body: call })).json.result?.isError === undefined, 15_000);
  stream.close();
});
