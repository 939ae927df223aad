import { generateKeyPairSync } from 'node:crypto';
import type { Anchor } from '@cortex/contracts/chain';
import { expect, it } from '@jest/globals';
import { AnchorKey } from './anchor-key.js';
import { blocksOf, GENESIS, linkAt, type Block } from './links.js';
import { verifyChain, type Evidence, type Verdict } from './verify.js';

const pem = () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const key = new AnchorKey(pem());
const NOW = Date.UTC(2026, 6, 1);
const DAY = 86_400_000;

interface Log {
  records: { seq: number; data: Buffer }[];
  blocks: Block[];
  anchors: Anchor[];
}

const record = (seq: number, text = `record ${seq}`) => ({ seq, data: Buffer.from(text) });
/** Ten records, hashed as four, three and three of them came, anchored at 4 and 9. */
function log(): Log {
  const records = Array.from({ length: 10 }, (_, n) => record(n + 1));
  const blocks: Block[] = [];
  for (const part of [records.slice(0, 4), records.slice(4, 7), records.slice(7)]) {
    const last = blocks.at(-1);
    blocks.push(...blocksOf(last === undefined ? GENESIS : linkAt(last, last.last_seq), part));
  }
  return { records, blocks, anchors: [anchorOf(blocks, 4, 20), anchorOf(blocks, 9, 10)] };
}
function anchorOf(blocks: Block[], seq: number, daysAgo: number, by = key): Anchor {
  const block = blocks.find(({ first_seq, last_seq }) => first_seq <= seq && seq <= last_seq)!;
  const at = new Date(NOW - daysAgo * DAY).toISOString();
  return by.sign({ at, seq, hash: linkAt(block, seq).toString('hex') });
}

async function* each<T>(list: T[]): AsyncGenerator<T> {
  yield* list;
}
const verify = ({ records, blocks, anchors }: Log, more: Partial<Evidence> = {}): Promise<Verdict> =>
  verifyChain({
    records: each(records),
    blocks: each(blocks),
    anchors,
    keys: new Set([key.publicKey]),
    firstSeq: async () => records[0]?.seq ?? 11,
    keptSince: new Date(NOW - 365 * DAY),
    ...more,
  });

it('finds nothing where nothing was done, and tells how far the proof reaches', async () => {
  const one = log();
  one.records.push(record(11));
  expect(await verify(one)).toEqual({
    fault: null,
    first_seq: 1,
    last_seq: 11,
    records: 10,
    anchors: 2,
    last_anchor: { seq: 9, at: new Date(NOW - 10 * DAY).toISOString() },
    unproven: 1,
  });
});

it('has nothing to say of a log that never had a record', async () => {
  expect(await verify({ records: [], blocks: [], anchors: [] })).toMatchObject({ fault: null, records: 0 });
});

const ATTACKS: [what: string, attack: (log: Log) => void, kind: string, seq: number][] = [
  [
    'T90 a record that was changed',
    ({ records }: Log) => void (records[5] = record(6, 'nothing happened')),
    'changed',
    6,
  ],
  ['T90 a record that was removed', ({ records }: Log) => void records.splice(5, 1), 'missing', 6],
  ['T90 records that were removed at the end', ({ records }: Log) => void records.splice(7), 'missing', 8],
  ['T90 two records that changed places', swap, 'changed', 3],
  ['T90 a record that was put in between', putIn, 'inserted', 5],
  ['T90 the first records, taken before their time', ({ records }: Log) => void records.splice(0, 6), 'missing', 4],
  ['T90 a record and all hashes after it made anew', rewrite, 'rewritten', 9],
  ['T90 hashes that were changed', ({ blocks }: Log) => void blocks[1]!.hashes.fill(0, 32, 64), 'changed', 6],
  ['T90 hashes that were cut off, with their records', cutOff, 'missing', 9],
  ['T90 an anchor by another key', anotherKey, 'forged_anchor', 9],
  ['T90 an anchor that says something else than its signature', restamp, 'forged_anchor', 9],
  ['T90 an anchor of one who has the key, beside ours', twoAnchors, 'rewritten', 9],
];

it.each(ATTACKS)('names the first record that is not as it was: %s', async (_what, attack, kind, seq) => {
  const one = log();
  attack(one);
  expect((await verify(one)).fault).toMatchObject({ kind, seq });
});

function swap({ records }: Log): void {
  [records[2]!.data, records[3]!.data] = [records[3]!.data, records[2]!.data];
}
/** The chain was made over a log without record 5. */
function putIn(one: Log): void {
  const without = one.records.filter(({ seq }) => seq !== 5);
  one.blocks = blocksOf(GENESIS, without);
  one.anchors = [];
}
function rewrite(one: Log): void {
  one.records[5] = record(6, 'nothing happened');
  one.blocks = blocksOf(GENESIS, one.records);
}
function cutOff({ records, blocks }: Log): void {
  records.splice(7);
  blocks.splice(2);
}
function anotherKey({ blocks, anchors }: Log): void {
  anchors[1] = anchorOf(blocks, 9, 10, new AnchorKey(pem()));
}
function restamp({ anchors }: Log): void {
  anchors[1] = { ...anchors[1]!, at: new Date(NOW).toISOString() };
}
function twoAnchors({ anchors }: Log): void {
  anchors.push(key.sign({ at: new Date(NOW).toISOString(), seq: 9, hash: 'ab'.repeat(32) }));
}

it('T90 proves what is left after a purge, from the hash before the cut', async () => {
  const one = log();
  one.records.splice(0, 5);
  one.blocks.splice(0, 1);
  const keptSince = new Date(NOW - 15 * DAY);
  expect(await verify(one, { keptSince })).toMatchObject({ fault: null, first_seq: 6, records: 5, anchors: 1 });
  one.records[1] = record(7, 'changed after the purge');
  expect((await verify(one, { keptSince })).fault).toMatchObject({ kind: 'changed', seq: 7 });
});

it('takes records that leave by age while it reads for no attack', async () => {
  const one = log();
  one.records.splice(2, 3);
  expect((await verify(one, { firstSeq: async () => 1 })).fault).toMatchObject({ kind: 'missing', seq: 3 });
  expect(await verify(one, { firstSeq: async () => 6 })).toMatchObject({ fault: null, records: 7 });
});

it('takes anchors of an older key that is still named as ours', async () => {
  const old = new AnchorKey(pem());
  const one = log();
  one.anchors[0] = anchorOf(one.blocks, 4, 20, old);
  const keys = new Set([key.publicKey, old.publicKey]);
  expect(await verify(one, { keys })).toMatchObject({ fault: null, anchors: 2 });
});

it.each([
  undefined,
  'nonsense',
  generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
])('signs with nothing but an Ed25519 key, and quotes none', (text) => {
  expect(() => new AnchorKey(text)).toThrow(/^CORTEX_AUDIT_ANCHOR_KEY is (missing|no Ed25519 key); give a PKCS8 PEM/);
});
