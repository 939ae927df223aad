import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { LEGACY_REVISIONS } from '../seams.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient } from '../testing/raw-client.js';
import { sampleService } from '../testing/sample-tools.js';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService] });
});
afterAll(async () => edge[Symbol.asyncDispose]());

const rpc = (method: string, params: object, id = 1) => ({ jsonrpc: '2.0', id, method, params });
const echo = (text: string) => rpc('tools/call', { name: 'sample_echo', arguments: { text } });
const hello = (protocolVersion: string) =>
  rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } });
/** As a client that reads streams, and as one that reads none. */
const ACCEPT = ['application/json, text/event-stream', 'application/json'];

describe('T11 callers with one request id at once', () => {
  it.each(LEGACY_REVISIONS)('each get their own answer in sessions of %s', async (revision) => {
    const marks = Array.from({ length: 100 }, (_, i) => `${revision}-${i}`);
    const answers = await Promise.all(
      marks.map(async (mark, i) => {
        const raw = rawClient(edge.origin, await edge.token({ sub: mark }));
        const session = String((await raw.ask({ body: hello(revision) })).headers['mcp-session-id']);
        const headers = { 'mcp-session-id': session, accept: ACCEPT[i % 2] };
        const { text } = await raw.ask({ headers, body: echo(mark) });
        return /"\{\\"text\\":\\"([^\\]+)\\"\}"/.exec(text)?.[1] ?? text;
      }),
    );
    expect(answers).toEqual(marks);
  });

  it('each get their own answer on their own HTTP+SSE stream, and nothing of anybody else', async () => {
    const marks = Array.from({ length: 30 }, (_, i) => `sse-${i}`);
    await Promise.all(
      marks.map(async (mark) => {
        const raw = rawClient(edge.origin, await edge.token({ sub: mark }));
        const stream = await raw.stream({ method: 'GET', path: '/sse' });
        const path = await eventually(() => String(stream.events[0] ?? '') || false);
        await raw.ask({ path, body: hello('2024-11-05') });
        await raw.ask({ path, body: { ...echo(mark), id: 2 } });
        await eventually(() => stream.events.some((event: { id?: unknown }) => event.id === 2));
        expect(stream.text.match(/sse-\d+/g)).toEqual([mark]);
        stream.close();
      }),
    );
  });
});
