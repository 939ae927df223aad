import { generateKeyPairSync } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { auditService } from '@cortex/audit';
import { AnchorKey } from '@cortex/audit/chain/anchor-key';
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
  const env = { CORTEX_AUDIT_ANCHOR_KEY: pem, CRON_SECRET: 'of the timer', CORTEX_AUDIT_RETENTION_DAYS: '30' };
  home = await runningHome({ beside: [auditService], env });
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

/** Calls that are so many days older than they are. */
const age = (table: string, rows: number, days: number) =>
  owner().query(
    `update audit.${table} set created_at = created_at - make_interval(days => $2)
      where id in (select id from audit.${table} order by created_at desc limit $1)`,
    [rows, days],
  );

it('looks at an installation elsewhere with the passwords of provisioning and the public key', async () => {
  const file = join(dir, 'provision.json');
  const { bus, database } = readSecrets(home.home);
  await writeFile(file, JSON.stringify({ bus: { provision: bus.provision }, database }));
  expect(await verify('--secrets', file)).toMatchObject({ code: 2, told: expect.stringContaining('CORTEX_NATS_URL') });
  process.env['CORTEX_NATS_URL'] = home.edge.nats.url;
  try {
    expect(await verify('--secrets', file)).toMatchObject({
      code: 2,
      told: expect.stringContaining('--key is missing'),
    });
    const key = new AnchorKey(pem).publicKey;
    expect(await verify('--secrets', file, '--key', key)).toMatchObject({ code: 0 });
    const other = Buffer.alloc(32, 1).toString('base64url');
    expect(await verify('--secrets', file, '--key', other)).toMatchObject({
      code: 1,
      told: expect.stringContaining('forged_anchor'),
    });
  } finally {
    delete process.env['CORTEX_NATS_URL'];
  }
});

it('lets go what is older than the retention, and no more: for a timer that has the secret', async () => {
  for (let n = 0; n < 3; n++) await home.edge.ask('tools/list');
  await eventually(async () =>
    expect((await owner().query('select 1 from audit.requests')).rowCount).toBeGreaterThanOrEqual(3),
  );
  await age('tool_calls', 2, 31);
  await age('tool_calls', 4, 29);
  await age('requests', 1, 31);
  const purge = (method: string, path = '', headers: Record<string, string> = {}) =>
    fetch(`${home.edge.origin}/api/cron/purge-audit${path}`, { method, headers });
  const done = await purge('POST', '', { 'x-cron-secret': 'of the timer' });
  expect(done.status).toBe(200);
  const cutoff = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(await done.json()).toEqual({ success: true, deleted: 3, retentionDays: 30, cutoff });
  const again = await purge('GET', '?secret=of%20the%20timer');
  expect(await again.json()).toMatchObject({ success: true, deleted: 0 });
  expect(home.edge.app.log.some((line) => line.includes('of the timer') || line.includes('secret='))).toBe(false);
  expect(await verify()).toMatchObject({ code: 0 });
});

it('lets go what is too old on request of an operator', async () => {
  await age('tool_calls', 1, 90);
  const { out } = await home.cortex('audit', 'purge', '--json');
  expect(JSON.parse(out)).toMatchObject({ deleted: 1, retentionDays: 30 });
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
