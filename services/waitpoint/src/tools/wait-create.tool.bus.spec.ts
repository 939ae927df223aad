import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually, startService, type RunningService } from '@cortex/testing';
import { tempDir } from '@cortex/testing/temp-dir';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { asSession, signalOf } from '../testing/session.js';
import { WaitpointModule } from '../waitpoint.module.js';
import { howToSignal } from './how-to-signal.js';
import { waitCancel } from './wait-cancel.tool.js';
import { waitCheck } from './wait-check.tool.js';
import { waitCreate } from './wait-create.tool.js';

let app: RunningService;
beforeAll(async () => {
  app = await startService(WaitpointModule, { env: { CORTEX_WAITPOINT_SWEEP_MS: '0' } });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const train = { label: 'train arm2', intent: 'compare the loss with arm6' };

describe('wait_create', () => {
  it('arms a waitpoint that the next wait_check of the session shows, without its secret', async () => {
    const made = await app.call(waitCreate, train, asSession());
    expect(made).toMatchObject({
      id: expect.stringMatching(/^wp_[0-9a-f]{12}$/),
      secret: expect.stringMatching(/^[0-9a-f]{32}$/),
      state: 'armed',
      quorum: { need: 1, got: 0, members: [] },
      emit_from: { kind: 'local' },
    });
    const { waitpoint } = await app.call(waitCheck, { id: made.id }, asSession());
    expect(waitpoint).toMatchObject({ id: made.id, state: 'armed', signals: [], fires: 0 });
    expect(JSON.stringify(waitpoint)).not.toContain(made.secret);
  });

  it('tells what is wrong with its arguments, and what mends it', async () => {
    const refused = async (more: Record<string, unknown>, problem: string, kind = 'invalid_argument') => {
      const { head } = await app.send('wait_create', { ...train, ...more }, asSession());
      expect(head).toMatchObject({ ok: false, error: { kind, message: problem } });
    };
    await refused({ label: ' ' }, 'label must not be empty; name the job');
    await refused({ intent: '' }, 'intent must not be empty; say what to do when it ends');
    await refused({ label: 'x'.repeat(121) }, 'label has more than 120 characters; shorten it');
    await refused({ members: ['a', 'b', 'a'] }, 'members[2] repeats members[0]; give distinct names');
    await refused({ members: ['a', ' '] }, 'members[1] must not be empty; name the job');
    const whole = 'quorum must be "all" or an integer from 1 to 3; leave it out for all';
    for (const quorum of [0, 4, 1.5, 'most', true]) await refused({ members: ['a', 'b', 'c'], quorum }, whole);
    await refused({ quorum: 101 }, 'quorum must be "all" or an integer from 1 to 100; leave it out for all');
    for (const expires_in_hours of [0, -1]) {
      await refused({ expires_in_hours }, 'expires_in_hours must be greater than 0; the default is 168');
    }
    await refused({ max_signals: 1_001 }, 'max_signals must be at most 1000; use a smaller one');
    await refused({ labell: 'x' }, 'labell is no known argument; did you mean label?');
  });

  it('needs all members unless told otherwise, lives 168 hours, and 720 at most', async () => {
    const hours = ({ created_at, expires_at }: { created_at: string; expires_at: string }) =>
      (Date.parse(expires_at) - Date.parse(created_at)) / 3_600_000;
    const members = ['a', 'b'];
    const all = await app.call(waitCreate, { ...train, members, expires_in_hours: 9_999 }, asSession());
    expect([all.quorum, hours(all)]).toEqual([{ need: 2, got: 0, members }, 720]);
    expect(all.next).toContain("with MEMBER replaced by the member's name (a, b)");
    const one = await app.call(waitCreate, { ...train, members, quorum: 1 }, asSession());
    expect([one.quorum.need, hours(one)]).toEqual([1, 168]);
  });

  it('is refused to a session without a channel, and to a caller without a session', async () => {
    const none = app.call(waitCreate, train, { scope: { session_id: 's9' } });
    await expect(none).rejects.toMatchObject({ kind: 'failed_precondition' });
    await expect(app.call(waitCreate, train)).rejects.toMatchObject({ reason: 'no_session' });
  });

  it('under the same key gives the same waitpoint with a secret that works', async () => {
    const once = await app.call(waitCreate, train, asSession('s3', { key: 'k1' }));
    const again = await app.call(waitCreate, train, asSession('s3', { key: 'k1' }));
    expect(again.id).toBe(once.id);
    const signal = signalOf(app);
    expect((await signal({ id: once.id, secret: once.secret })).http).toBe(401);
    expect((await signal({ id: again.id, secret: again.secret })).http).toBe(202);
    const late = app.call(waitCreate, train, asSession('s3', { key: 'k1' }));
    await expect(late).rejects.toMatchObject({ kind: 'conflict', field: 'id' });
  });

  it('T96 arms no more than 200 of a session, and others do not notice', async () => {
    for (let n = 0; n < 20; n++) {
      await Promise.all(Array.from({ length: 10 }, () => app.call(waitCreate, train, asSession('flood'))));
    }
    const more = app.call(waitCreate, train, asSession('flood'));
    await expect(more).rejects.toMatchObject({ kind: 'resource_exhausted' });
    expect((await app.call(waitCreate, train, asSession('calm'))).state).toBe('armed');
  });
});

describe('the lines to paste', () => {
  const home = `/tmp/it's a home`;
  const line = { id: 'wp_1a2b3c4d5e6f', secret: 'f'.repeat(32), members: [], device: null, port: 3001, home };
  const sh = (script: string, env: Record<string, string> = {}) =>
    execFileSync('sh', ['-c', script], { env: { PATH: String(process.env['PATH']), ...env }, encoding: 'utf8' });

  it('are what a POSIX shell takes, whatever the home is called', () => {
    for (const members of [[], ['a']]) {
      for (const device of [null, 'lab']) {
        const { recommended: _recommended, ...lines } = howToSignal({ ...line, members, device });
        for (const text of Object.values(lines)) execFileSync('sh', ['-n', '-c', text]);
        expect(lines.cli).toContain(`'/tmp/it'\\''s a home/bin/cortex-signal'`);
      }
    }
  });

  it('drop the exit code of the job into the spool, whole and under a name of their own', async () => {
    const dir = await tempDir('lines');
    for (const [device, folder] of [
      [null, join(dir, `it's`, 'tmp', 'signals')],
      ['lab', join(dir, '.cortex', 'tmp', 'signals')],
    ] as const) {
      const { shell } = howToSignal({ ...line, device, home: join(dir, `it's`) });
      sh(`(exit 3); ${shell}; true; ${shell}`, { HOME: dir });
      const files = (await readdir(folder)).toSorted();
      expect(files).toHaveLength(2);
      const signals = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
      expect(signals.map((text) => JSON.parse(text) as unknown)).toEqual(
        expect.arrayContaining([
          { id: line.id, secret: line.secret, status: 'fail', message: 'exit=3' },
          { id: line.id, secret: line.secret, status: 'ok', message: 'exit=0' },
        ]),
      );
      expect(files.every((name) => /^[A-Za-z0-9._-]+\.json$/.test(name))).toBe(true);
    }
  });

  it('T99 name the secret in no argument of a program', () => {
    const { cli, curl, shell } = howToSignal(line);
    // In front of the command it is its environment; printf is a part of the shell.
    expect(cli.slice(cli.indexOf('bin/cortex-signal'))).not.toContain(line.secret);
    expect(curl.slice(curl.indexOf('| curl'))).not.toContain(line.secret);
    expect(shell.match(new RegExp(line.secret, 'g'))).toHaveLength(1);
  });
});

describe('wait_check and wait_cancel', () => {
  it('T85 show and end a waitpoint to its own session and channel alone', async () => {
    const { id } = await app.call(waitCreate, train, asSession('own'));
    const others = [
      asSession('other'),
      asSession('own', { workspace: 'w2' }),
      { scope: { session_id: 'x', channel: 'web:x' } },
    ];
    for (const other of others) {
      const missing = { kind: 'not_found', field: 'id' };
      await expect(app.call(waitCheck, { id }, other)).rejects.toMatchObject(missing);
      await expect(app.call(waitCancel, { id }, other)).rejects.toMatchObject(missing);
    }
    for (const bad of ['', 'wp_', '*', `${id}.x`]) {
      const { head } = await app.send('wait_cancel', { id: bad }, asSession('own'));
      expect(head).toMatchObject({ ok: false });
    }
    // Whoever is on its channel now would get its wake.
    const heir = { scope: { session_id: 'heir', channel: 'web:own' } };
    expect((await app.call(waitCheck, {}, heir)).waitpoints).toMatchObject([{ id }]);
    expect(await app.call(waitCancel, { id }, heir)).toEqual({ id, cancelled: true, state: 'cancelled' });
    expect(await app.call(waitCancel, { id }, heir)).toEqual({ id, cancelled: false, state: 'cancelled' });
  });

  it('lists armed ones, soonest expiry first', async () => {
    const arm = (label: string, expires_in_hours: number) =>
      app.call(waitCreate, { ...train, label, expires_in_hours }, asSession('list'));
    for (const [label, hours] of [
      ['late', 9],
      ['soon', 1],
      ['mid', 5],
    ] as const) {
      await arm(label, hours);
    }
    const { waitpoints } = await app.call(waitCheck, {}, asSession('list'));
    expect(waitpoints!.map(({ label }) => label)).toEqual(['soon', 'mid', 'late']);
  });
});

it('a signal fires it, and is shown', async () => {
  const { id, secret } = await app.call(waitCreate, train, asSession('s2'));
  const signal = signalOf(app);
  expect(await signal({ id, secret, status: 'fail', message: 'exit=1' })).toEqual({
    http: 202,
    body: { accepted: true, fired: true },
  });
  expect(await signal({ id, secret })).toMatchObject({ http: 410, body: { state: 'fired' } });
  // The view follows the log; only the caller's own writes are waited for.
  await eventually(async () =>
    expect((await app.call(waitCheck, { id }, asSession('s2'))).waitpoint).toMatchObject({
      state: 'fired',
      fires: 1,
      quorum: { got: 1, reported: ['#1'] },
      signals: [{ status: 'fail', message: 'exit=1', source: 'webhook' }],
    }),
  );
  expect(await app.call(waitCheck, {}, asSession('s2'))).toEqual({ waitpoints: [] });
  expect(await app.call(waitCancel, { id }, asSession('s2'))).toEqual({ id, cancelled: false, state: 'fired' });
});
