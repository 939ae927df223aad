import { createPublicKey } from 'node:crypto';
import { CALLS_STREAM } from '@cortex/contracts';
import type { Anchor } from '@cortex/contracts/chain';
import { eventually, startService, type RunningService } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { AuditModule, auditService } from '../audit.module.js';
import { Anchoring } from './anchoring.js';
import { isSignedBy } from './anchor-key.js';
import { GENESIS, nextLink } from './links.js';

const start = () => startService({ module: AuditModule, def: auditService });
const record = (n: number) =>
  JSON.stringify({ type: 'RequestRecorded', call_id: `r${n}`, at: '2026-01-05T10:00:00.000Z', n });

async function write(app: RunningService, from: number, to: number): Promise<void> {
  const edge = await app.nats.busAs('mcp-edge');
  for (let n = from; n <= to; n++) await edge.publishAcked('cortex.call.mcp-edge._request', record(n));
}
/** Links that are stored, in order. */
async function links(app: RunningService): Promise<string[]> {
  const { rows } = await app.postgres
    .pool()
    .query<{ hashes: Buffer; first_seq: string; last_seq: string }>(
      'select * from audit.call_chain order by first_seq',
    );
  return rows.flatMap(({ hashes, first_seq, last_seq }) =>
    Array.from({ length: Number(last_seq) - Number(first_seq) + 1 }, (_, n) =>
      hashes.subarray(n * 32, n * 32 + 32).toString('hex'),
    ),
  );
}
/** h(n) of records 1 to n, as anybody can work it out. */
function expected(to: number): string[] {
  let link: Uint8Array = GENESIS;
  return Array.from({ length: to }, (_, n) => {
    link = nextLink(link, n + 1, Buffer.from(record(n + 1)));
    return Buffer.from(link).toString('hex');
  });
}
const anchors = ({ lines }: RunningService): Anchor[] =>
  lines
    .map((line) => JSON.parse(line) as Anchor & { _type: string })
    .filter(({ _type }) => _type === 'cortex_audit_anchor');

it('hashes every record as it comes, one after the other, also over a restart', async () => {
  await using app = await start();
  await write(app, 1, 30);
  await eventually(async () => expect(await links(app)).toEqual(expected(30)));
  await app.stop();
  await write(app, 31, 40);
  await using again = await startService(
    { module: AuditModule, def: auditService },
    { nats: app.nats, postgres: app.postgres },
  );
  await eventually(async () => expect(await links(again)).toEqual(expected(40)));
});

it('T90 goes on over what a restored database lacks, from the stream, to the same hashes', async () => {
  await using app = await start();
  await write(app, 1, 20);
  await eventually(async () => expect(await links(app)).toHaveLength(20));
  await app.stop();
  const owner = app.postgres.pool();
  const { rows } = await owner.query<{ last_seq: string }>(
    'select last_seq from audit.call_chain order by last_seq limit 1',
  );
  const kept = Number(rows[0]?.last_seq);
  await owner.query('delete from audit.call_chain where last_seq > $1', [kept]);
  await owner.query(`update audit.projection_checkpoint set seq = $1 where projection = 'call_chain_v1'`, [kept]);
  await using again = await startService(
    { module: AuditModule, def: auditService },
    { nats: app.nats, postgres: app.postgres },
  );
  await eventually(async () => expect(await links(again)).toEqual(expected(20)));
  await write(again, 21, 22);
  await eventually(async () => expect(await links(again)).toEqual(expected(22)));
});

it('signs what came within the hour, as an event and as a line', async () => {
  await using app = await start();
  await write(app, 1, 3);
  await eventually(async () => expect(await links(app)).toHaveLength(3));
  const anchoring = app.get(Anchoring);
  await anchoring.anchor();
  await eventually(() => expect(anchors(app).at(-1)?.seq).toBe(3));
  await write(app, 4, 5);
  await eventually(async () => expect(await links(app)).toHaveLength(5));
  await anchoring.anchor();
  expect(anchors(app).at(-1)?.seq).toBe(3);
  const inAnHour = new Date(Date.now() + 3_601_000);
  await Promise.all([anchoring.anchor(inAnHour), anchoring.anchor(inAnHour)]);
  const made = anchors(app);
  expect(made.filter(({ seq }) => seq === 5)).toHaveLength(1);
  const key = createPublicKey(app.host.secrets?.audit_anchor_key ?? '').export({ format: 'jwk' }).x ?? '';
  expect(made.every((anchor) => isSignedBy(anchor, new Set([key])))).toBe(true);
  const stored = await app.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.audit._.chain.calls');
  expect(Buffer.from(stored?.data ?? '').toString()).toContain(made.at(-1)?.signature);
});

it('signs after every ten thousand records, however many come at once', async () => {
  await using app = await start();
  const anchoring = app.get(Anchoring);
  expect(anchoring.every).toBe(10_000);
  anchoring.every = 100;
  await write(app, 1, 350);
  await eventually(async () => expect(await links(app)).toHaveLength(350));
  await anchoring.anchor();
  const made = anchors(app).map(({ seq }) => seq);
  // The first one is of what had come by then; from there on no hundred is left out.
  const gaps = made.slice(1).map((seq, i) => seq - (made[i] ?? 0));
  expect(gaps.every((gap) => gap <= 100)).toBe(true);
  expect(350 - (made.at(-1) ?? 0)).toBeLessThan(100);
});

it('T90 lets nobody with the rights of the service write the chain', async () => {
  await using app = await start();
  await write(app, 1, 2);
  await eventually(async () => expect(await links(app)).toHaveLength(2));
  await expect(app.postgres.pool('audit').query('delete from audit.call_chain')).rejects.toThrow(/permission denied/);
});

it('keeps the hash before the cut when a purge has nothing to prove any more', async () => {
  await using app = await start();
  for (const [from, to] of [
    [1, 3],
    [4, 6],
    [7, 12],
  ] as const) {
    await write(app, from, to);
    await eventually(async () => expect(await links(app)).toHaveLength(to));
  }
  const admin = await app.nats.busAs('provision');
  await admin.request(`$JS.API.STREAM.PURGE.${CALLS_STREAM}`, JSON.stringify({ seq: 10 }), { timeoutMs: 5_000 });
  await app.ask('cmd', 'purge', {}, { from: 'mcp-edge' });
  const { rows } = await app.postgres
    .pool()
    .query<{ first: string; last: string }>(
      'select min(first_seq) as first, max(last_seq) as last from audit.call_chain',
    );
  const [first, last] = [Number(rows[0]?.first), Number(rows[0]?.last)];
  expect(first).toBeGreaterThan(1);
  expect(first).toBeLessThanOrEqual(9);
  expect(last).toBe(12);
});
