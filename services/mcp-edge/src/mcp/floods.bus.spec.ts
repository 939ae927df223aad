import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { type EdgeFixture, modernMeta, startEdge } from '../testing/edge-fixture.js';
import { type RawAsk, rawClient, type RawStream } from '../testing/raw-client.js';
import { sampleService } from '../testing/sample-tools.js';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService] });
});
afterAll(async () => edge[Symbol.asyncDispose]());

const LISTEN: RawAsk = {
  body: {
    jsonrpc: '2.0',
    id: 1,
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true }, _meta: modernMeta },
  },
  headers: {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'subscriptions/listen',
  },
};
const open = async (kind: string): Promise<number> => {
  const text = await (await fetch(`${edge.origin}/metrics`)).text();
  return Number(new RegExp(`^gw_streams\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
};

describe('T18 idle streams of many callers', () => {
  it.each([
    ['listen', 55, 20, LISTEN],
    ['get', 12, 90, { method: 'GET' } satisfies RawAsk],
  ])(
    'are 1,024 at most (%s): the next is refused at once, calls go on, and nothing is left of them',
    async (kind, callers, each, ask) => {
      const streams: RawStream[] = [];
      for (let caller = 0; caller < callers; caller++) {
        const token = await edge.token({ sub: `${kind}-${caller}` });
        const raw = rawClient(edge.origin, token);
        streams.push(...(await Promise.all(Array.from({ length: each }, () => raw.stream(ask)))));
      }
      expect(await open(kind)).toBe(1024);
      const refused = streams.filter(
        ({ status, headers }) => status !== 200 || headers['content-type'] !== 'text/event-stream',
      );
      expect(refused).toHaveLength(callers * each - 1024);
      const { body } = await edge.call('sample_echo', { text: 'meanwhile' });
      expect(body.result.structuredContent).toEqual({ text: 'meanwhile' });
      for (const stream of streams) stream.close();
      await eventually(async () => (await open(kind)) === 0);
    },
  );
});
