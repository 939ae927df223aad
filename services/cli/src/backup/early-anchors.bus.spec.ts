import type { Bus } from '@cortex/bus';
import { COMMIT_HEADER, EVENTS_STREAM, subjects } from '@cortex/contracts';
import { eventually, natsFixture, type NatsFixture } from '@cortex/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { dropEarlyAnchors } from './early-anchors.js';

const ANCHORS = subjects.event('audit.chain', null, 'calls');
let nats: NatsFixture;
let bus: Bus;
beforeAll(async () => {
  nats = await natsFixture();
  bus = await nats.busAs('provision');
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
});

const anchor = (seq: number, after?: number) => {
  const commit = {
    commit_id: `anchor-${seq}`,
    at: new Date().toISOString(),
    actor: { kind: 'system', id: 'audit' },
    workspace: '_',
    correlation_id: 'x',
    causation_id: 'x',
    events: [{ type: 'CallsAnchored', version: 1, data: { seq } }],
  };
  return bus.publishAcked(ANCHORS, JSON.stringify(commit), {
    headers: { [COMMIT_HEADER]: commit.commit_id },
    expectLastSubjectSeq: after,
  });
};

it('T90 anchors of records that a restored trail has not are taken out, others stay', async () => {
  expect(await dropEarlyAnchors(bus)).toBe(0);
  for (let n = 0; n < 3; n++) await bus.publishAcked('cortex.call.ticket.create_ticket', '{}');
  for (const seq of [2, 3, 4, 9]) await anchor(seq);
  expect(await dropEarlyAnchors(bus)).toBe(2);
  // Servers of 2.9 take what was deleted for the last of its subject until they are started again.
  await nats.kill();
  await nats.restart();
  await eventually(() => bus.up);
  const next = await anchor(5, 2);
  expect(next.seq).toBe(5);
  const last = await bus.direct.lastFromLeader(EVENTS_STREAM, ANCHORS);
  expect(last?.headers?.get(COMMIT_HEADER)).toBe('anchor-5');
  expect(await dropEarlyAnchors(bus)).toBe(1);
});
