import { expect, it } from '@jest/globals';
import { testBackend } from '../testing/backend.js';
import { BackendClient } from './client.js';

it('P26 a stream of very many lines lets others have a turn between them', async () => {
  const total = 15_000;
  const said = Array.from({ length: total }, (_, progress) => ({ type: 'progress', progress }));
  await using backend = await testBackend();
  backend.answers['work'] = (_, res) => {
    res.writeHead(200, { 'content-type': 'application/x-ndjson' });
    res.end([...said, { type: 'result', result: 1 }].map((line) => `${JSON.stringify(line)}\n`).join(''));
  };
  const client = new BackendClient({
    backend: {
      id: 'demo',
      url: backend.url,
      path: '/api/cortex/backend',
      prefix: 'demo_',
      scopePrefixes: ['mcp:demo:'],
      uriSchemes: ['demo'],
      timeoutMs: 60_000,
      technicalToken: 'technical',
      eventToken: undefined,
      tokenMode: 'passthrough',
      ownsTickets: false,
      actions: [],
      order: 0,
    },
    maxBytes: 10 * 1024 * 1024,
    maxStreamMs: 60_000,
    listChanged: () => Promise.resolve(),
    resourceUpdated: () => undefined,
  });
  let [all, atOnce, most, running] = [0, 0, 0, true];
  const turn = (): void => {
    atOnce = 0;
    if (running) setImmediate(turn);
  };
  turn();
  const progress = (): void => {
    all++;
    most = Math.max(most, ++atOnce);
  };
  const asked = { method: 'work', params: '{}', as: 'technical', requestId: 'r1', events: { progress } } as const;
  const answer = await client.call(asked).answer;
  running = false;
  await client.close();
  expect([answer, all]).toEqual([expect.objectContaining({ kind: 'result', value: 1 }), total]);
  // A piece of 64 KiB holds less than two thousand such lines.
  expect(most).toBeLessThan(3_000);
});
