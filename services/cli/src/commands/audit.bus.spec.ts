import { generateKeyPairSync } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { auditService } from '@cortex/audit';
import type { Verdict } from '@cortex/audit/chain/verify';
import { CALLS_STREAM } from '@cortex/contracts';
import { eventually, tempDir } from '@cortex/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { writeJson } from '../home.js';
import { readSecrets } from '../secrets.js';
import { runningHome, type RunningHome } from '../testing/running-home.js';

const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
let home: RunningHome;
let dir: string;
beforeAll(async () => {
  dir = await tempDir('anchors');
  home = await runningHome({ beside: [auditService], env: { CORTEX_AUDIT_ANCHOR_KEY: pem } });
  writeJson(home.home.secrets, { ...readSecrets(home.home), audit_anchor_key: pem });
  process.env['CORTEX_DATABASE_URL'] = home.edge.postgres.adminUrl;
});
afterAll(async () => {
  delete process.env['CORTEX_DATABASE_URL'];
  await home[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

const verify = (...args: string[]) => home.cortex('audit', 'verify', ...args);
const verdictOf = async (): Promise<Verdict> => JSON.parse((await verify('--json')).out) as Verdict;
const anchorLines = () => home.edge.app.lines.filter((line) => line.includes('"cortex_audit_anchor"'));
const owner = () => home.edge.postgres.pool();

it('tells that the trail holds, how far, and by which anchor; the audit service is not asked', async () => {
  for (let n = 0; n < 5; n++) await home.edge.call('whoami');
  const verdict = await eventually(async () => {
    const said = await verdictOf();
    expect(said).toMatchObject({ fault: null, unproven: 0, anchors: 1, first_seq: 1 });
    return said;
  });
  expect(verdict.records).toBeGreaterThanOrEqual(10);
  const { code, out } = await verify();
  expect(code).toBe(0);
  expect(out).toContain('the audit trail holds');
  expect(out).toContain(`the last anchor is of record ${verdict.last_anchor?.seq}`);
});

it('T90 exits with 1 and names the record whose hash is another', async () => {
  const { rows } = await owner().query<{ hashes: Buffer; first_seq: string }>(
    'select first_seq, hashes from audit.call_chain order by first_seq offset 1 limit 1',
  );
  const [{ first_seq, hashes }] = rows as [{ hashes: Buffer; first_seq: string }];
  const set = 'update audit.call_chain set hashes = $2 where first_seq = $1';
  await owner().query(set, [first_seq, Buffer.alloc(hashes.length, 7)]);
  const said = await verify();
  expect(said).toMatchObject({ code: 1, told: expect.stringContaining(`record ${first_seq} is not what it was`) });
  await owner().query(set, [first_seq, hashes]);
  expect(await verify()).toMatchObject({ code: 0 });
});

it('T90 counts the anchors that a log collector has beside those of the log', async () => {
  const file = join(dir, 'lines.jsonl');
  await writeFile(file, [...home.edge.app.lines, 'no json', ''].join('\n'));
  expect(await verify('--anchors', file)).toMatchObject({ code: 0 });
  const [line] = anchorLines() as [string];
  await writeFile(file, line.replace(/"hash":"../, '"hash":"00'));
  expect(await verify('--anchors', file)).toMatchObject({ code: 1, told: expect.stringContaining('forged_anchor') });
  await writeFile(file, 'nothing of ours');
  expect(await verify('--anchors', file)).toMatchObject({ code: 2, told: expect.stringContaining('has no line with') });
  expect(await verify('--anchors', join(dir, 'none'))).toMatchObject({ code: 2 });
  expect(await verify('--key', 'short')).toMatchObject({
    code: 2,
    told: expect.stringContaining('32 bytes in base64url'),
  });
});

it('lets go what is too old, on request', async () => {
  const old = new Date(Date.now() - 366 * 86_400_000).toISOString();
  await owner().query(
    `update audit.tool_calls set created_at = $1 where id in (select id from audit.tool_calls order by created_at limit 2)`,
    [old],
  );
  const { out } = await home.cortex('audit', 'purge', '--json');
  expect(JSON.parse(out)).toMatchObject({ deleted: 2, retentionDays: 365 });
  expect(await verify()).toMatchObject({ code: 0 });
});

it('makes the proof anew for nobody: what was changed would then agree', async () => {
  const { code, told } = await home.cortex('projections', 'rebuild', 'call_chain_v1');
  expect(code).toBe(1);
  expect(told).toContain('made anew it would prove nothing');
});

it('T90 names the record that was removed from the stream', async () => {
  const { last_seq } = await verdictOf();
  const gone = Number(last_seq) - 1;
  await home.admin(({ bus }) =>
    bus.request(`$JS.API.STREAM.MSG.DELETE.${CALLS_STREAM}`, JSON.stringify({ seq: gone }), { timeoutMs: 5_000 }),
  );
  const said = await verify('--json');
  expect(said.code).toBe(1);
  expect(JSON.parse(said.out)).toMatchObject({ fault: { kind: 'missing', seq: gone } });
});

it('T90 finds records that were taken from the beginning before their time', async () => {
  await home.admin(({ bus }) => bus.request(`$JS.API.STREAM.PURGE.${CALLS_STREAM}`, '{}', { timeoutMs: 5_000 }));
  expect(await verify()).toMatchObject({
    code: 1,
    told: expect.stringContaining('has left the stream before its time'),
  });
});
