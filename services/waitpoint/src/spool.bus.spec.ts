import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '@cortex/contracts';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Sweeper } from './adapters/sweeper.js';
import { waitpoint, type WaitpointCommand } from './waitpoint/waitpoint.decider.js';
import { startWaiting, type Waiting } from './testing/waiting.js';

let at: Waiting;
let folder: string;
beforeAll(async () => {
  at = await startWaiting();
  folder = join(at.home, 'tmp', 'signals');
  await eventually(() => readdir(folder).then(() => true));
});
afterAll(async () => {
  await at[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await at.app.get(Sweeper).sweep();
  await at.app.postgres.pool().query('delete from waitpoint.rejections');
});

const put = (name: string, content: string | object) =>
  writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
const sweep = () => at.app.get(Sweeper).sweep();
const left = async () => (await readdir(folder)).filter((name) => name !== 'bad');
const bad = async () => (await readdir(join(folder, 'bad'))).map((name) => name.replace(/^\d{13}-/, ''));

describe('the local spool', () => {
  it('signals by a file, which is gone then; its name makes it count once', async () => {
    const { id, secret } = await at.arm({ max_signals: 9 });
    for (let round = 0; round < 2; round++) {
      await put('1-arm2.json', { id, secret, status: 'fail', message: 'exit=1', member: 'arm2' });
      await sweep();
      expect(await left()).toEqual([]);
    }
    await eventually(async () =>
      expect((await at.view(id)).signals).toEqual([
        { at: expect.any(String), status: 'fail', message: 'exit=1', member: 'arm2', source: 'spool' },
      ]),
    );
  });

  it('deletes what comes for a waitpoint that is resolved', async () => {
    const { id, secret } = await at.arm();
    await at.signal({ id, secret });
    await put('late.json', { id, secret });
    await sweep();
    expect(await left()).toEqual([]);
  });

  it('puts aside what is half written, no object, huge, a link, a pipe, a folder, unknown or wrong, and goes on', async () => {
    const { id, secret } = await at.arm();
    await put('a-half.json', `{"id":"${id}","secr`);
    await put('b-list.json', '[]');
    await put('c-huge.json', { id, secret, data: 'x'.repeat(65 * 1024) });
    await put('target.txt', JSON.stringify({ id, secret }));
    await symlink(join(folder, 'target.txt'), join(folder, 'd-link.json'));
    execFileSync('mkfifo', [join(folder, 'e-pipe.json')]);
    await mkdir(join(folder, 'f-folder.json'));
    await put('g-unknown.json', { id: 'wp_000000000000', secret });
    await put('h-wrong.json', { id, secret: 'guess' });
    await put('i-binary.json', '\0\xff\ufffe');
    await put(`${'j'.repeat(250)}.json`, '{');
    await put('z-good.json', { id, secret });
    await put('draft.tmp', '{');
    await sweep();
    expect(await left()).toEqual(['draft.tmp', 'target.txt']);
    expect((await bad()).toSorted()).toEqual([
      'a-half.json',
      'b-list.json',
      'c-huge.json',
      'd-link.json',
      'e-pipe.json',
      'f-folder.json',
      'g-unknown.json',
      'h-wrong.json',
      'i-binary.json',
      `${'j'.repeat(195)}.json`,
    ]);
    await eventually(async () => expect((await at.view(id)).state).toBe('fired'));
  });

  it('leaves misses for the next sweep when their budget is used up', async () => {
    const { id, secret } = await at.arm();
    for (let n = 0; n < 60; n++) await at.signal({ id, secret: 'guess' });
    await put('wrong.json', { id, secret: 'guess' });
    await put('right.json', { id, secret });
    await sweep();
    expect(await left()).toEqual(expect.arrayContaining(['wrong.json']));
    expect(await left()).not.toContain('right.json');
  });

  it('lets a signal that lay there before the deadline win over it', async () => {
    const { id, secret } = await at.arm({ expires_in_hours: 1e-9 });
    await put('in-time.json', { id, secret });
    await sweep();
    await eventually(async () => expect((await at.view(id)).state).toBe('fired'));
  });
});

describe('a sweep', () => {
  const times = (change: string, id: string) =>
    at.app.postgres.pool().query(`update waitpoint.agenda set ${change} where waitpoint_id = $1`, [id]);

  it('expires what is due, with a notice of who has reported', async () => {
    const { id, secret } = await at.arm({ members: ['a', 'b'], expires_in_hours: 0.0003 });
    await at.signal({ id, secret, member: 'a' });
    await eventually(async () => {
      await sweep();
      expect((await at.view(id)).state).toBe('expired');
    });
    await eventually(() => expect(at.session.of(id)[0]?.text).toMatch(/expired after .*: only 1 of 2 reported/));
    await eventually(async () => expect((await at.view(id)).delivery.pending).toBe(false));
    expect(at.session.of(id)).toHaveLength(1);
  });

  it('asks the waitpoint itself: what the agenda takes for due by a clock that is ahead is left alone', async () => {
    const { id } = await at.arm();
    await times(`expires_at = now() - interval '1 hour'`, id);
    expect(await sweep()).toMatchObject({ expired: 0 });
    await times(`expires_at = now() + interval '1 hour'`, id);
  });

  it('clock steps: delivers a wake that a clock has put far ahead', async () => {
    const { id, secret } = await at.arm();
    at.session.state.fails = 'nonsense';
    await at.signal({ id, secret });
    await eventually(async () => expect((await at.view(id)).delivery.attempts).toBe(1));
    at.session.state.fails = false;
    await times(`wake_at = now() + interval '2 days'`, id);
    await eventually(async () => expect(await sweep()).toMatchObject({ woken: 1 }));
    expect(at.session.of(id)).toHaveLength(1);
  });

  it('removes what was resolved more than 3 days ago; its signals are then for nobody', async () => {
    const id = `wp_${randomBytes(6).toString('hex')}`;
    const secret = randomBytes(16).toString('hex');
    const { store } = at.app.host;
    const actor = { kind: 'system' as const, id: 'test' };
    const then = new Date(Date.now() - 73 * 3_600_000).toISOString();
    const past = (command: WaitpointCommand) =>
      store.execute(waitpoint, 'w1', id, command, {
        commitId: randomUUID(),
        at: then,
        actor,
        correlation_id: 'c',
        causation_id: 'c',
      });
    const texts = { channel: 'web:s1', project: null, label: 'l', intent: 'i', members: [] };
    const rules = { need: 1, fail_fast: true, max_signals: 1, emit_from: { kind: 'local' as const } };
    await past({
      type: 'CreateWaitpoint',
      waitpoint: {
        waitpoint_id: id,
        session_id: 's1',
        ...texts,
        ...rules,
        expires_at: new Date().toISOString(),
        secret_sha256: sha256Hex(secret),
      },
    });
    await past({ type: 'CancelWaitpoint', by: 's1' });
    expect(await at.signal({ id, secret })).toMatchObject({ http: 410, body: { state: 'cancelled' } });
    // As soon as the view shows it to the sweep.
    await eventually(async () => expect(await sweep()).toMatchObject({ purged: 1 }));
    await eventually(async () => expect((await at.signal({ id, secret })).http).toBe(404));
    await expect(at.view(id)).rejects.toMatchObject({ kind: 'not_found', field: 'id' });
    expect((await at.events(id)).at(-1)!.type).toBe('WaitpointPurged');
  });

  it('runs at one instance at a time, and never over itself', async () => {
    const lock = `hashtextextended('cortex.waitpoint.sweep', 0)`;
    const holder = await at.app.postgres.pool().connect();
    try {
      await holder.query(`select pg_advisory_lock(${lock})`);
      const { id, secret } = await at.arm({ expires_in_hours: 1e-9 });
      expect(await sweep()).toMatchObject({ expired: 0 });
      // Its own folder it still reads.
      await put('own.json', { id, secret });
      expect(await sweep()).toMatchObject({ spooled: 1, expired: 0 });
      await holder.query(`select pg_advisory_unlock(${lock})`);
    } finally {
      holder.release();
    }
    expect(at.app.get(Sweeper).sweep()).toBe(at.app.get(Sweeper).sweep());
    await sweep();
  });
});
