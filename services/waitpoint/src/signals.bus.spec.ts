import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Sweeper } from './adapters/sweeper.js';
import { startWaiting, type Waiting } from './testing/waiting.js';

let at: Waiting;
beforeAll(async () => {
  at = await startWaiting();
});
afterAll(async () => {
  await at[Symbol.asyncDispose]();
});
const typesOf = async (id: string) => (await at.events(id)).map(({ type }) => type);

describe('a signal', () => {
  it('is found the moment that wait_create has answered, and fires once however often it comes', async () => {
    const { id, secret } = await at.arm();
    const all = await Promise.all(Array.from({ length: 8 }, () => at.signal({ id, secret })));
    expect(all.map(({ http }) => http).toSorted((a, b) => a - b)).toEqual([202, 410, 410, 410, 410, 410, 410, 410]);
    expect(all.find(({ http }) => http === 202)!.body).toEqual({ accepted: true, fired: true });
    const [late] = all.filter(({ http }) => http === 410);
    expect(late!.body).toEqual({
      error: 'this waitpoint is fired already',
      state: 'fired',
      resolved_at: expect.stringMatching(/Z$/),
    });
    expect((await typesOf(id)).filter((type) => type === 'WaitpointFired')).toHaveLength(1);
  });

  it('with the same dedupe key is recorded once and told so', async () => {
    const { id, secret } = await at.arm({ max_signals: 9 });
    const twice = [await at.signal({ id, secret, dedupe_key: 'k' }), await at.signal({ id, secret, dedupe_key: 'k' })];
    expect(twice.map(({ body }) => body)).toEqual([
      { accepted: true, fired: true },
      { accepted: true, fired: false, duplicate: true },
    ]);
  });

  it('of two instances that meets the quorum at once fires exactly once', async () => {
    await using other = await startWaiting({
      nats: at.app.nats,
      postgres: at.app.postgres,
      env: { CORTEX_HOME: at.home },
    });
    for (let round = 0; round < 10; round++) {
      const { id, secret } = await at.arm({ members: ['a', 'b'] });
      const signal = (member: string) => (round % 2 ? at : other).signal({ id, secret, member });
      const answers = await Promise.all([signal('a'), signal('b')]);
      expect(answers.map(({ http }) => http)).toEqual([202, 202]);
      expect(answers.filter(({ body }) => body['fired'] === true)).toHaveLength(1);
      expect((await typesOf(id)).filter((type) => type === 'WaitpointFired')).toHaveLength(1);
    }
  });

  it('is not lost when many jobs end at once at two instances', async () => {
    await using other = await startWaiting({
      nats: at.app.nats,
      postgres: at.app.postgres,
      env: { CORTEX_HOME: at.home },
    });
    const jobs = Array.from({ length: 60 }, (_, n) => `job${n}`);
    const { id, secret } = await at.arm({ members: jobs, fail_fast: false });
    const answers = await Promise.all(
      jobs.map((member, n) => (n % 2 ? at : other).signal({ id, secret, member, status: n % 3 ? 'ok' : 'fail' })),
    );
    expect(answers.every(({ http }) => http === 202)).toBe(true);
    expect(answers.filter(({ body }) => body['fired'] === true)).toHaveLength(1);
    expect((await typesOf(id)).filter((type) => type === 'WaitpointFired')).toHaveLength(1);
  });

  it('leaves no secret in the log, whichever of its texts holds one', async () => {
    const { id, secret } = await at.arm();
    const token = `ghp_${'a1B2'.repeat(9)}`;
    await at.signal({ id, secret, message: `pushed with ${token}`, data: { env: [`GITHUB=${token}`] } });
    const events = await at.events(id);
    expect(events.map(({ type }) => type)).toContain('SignalRecorded');
    expect(JSON.stringify(events)).not.toContain(token);
    const told = await eventually(() => at.session.of(id).at(0));
    expect(told?.text).toContain('pushed with [redacted:');
    expect(told?.text).not.toContain(token);
  });

  it('of unknown status counts as ok; what is no text is dropped, and long texts are cut with a note', async () => {
    const { id, secret } = await at.arm({ max_signals: 9 });
    await at.signal({ id, secret, status: 'done', message: 7, member: { a: 1 }, data: 'x'.repeat(16_001) });
    await at.signal({ id, secret, status: 'progress', message: `a\nb\0${'y'.repeat(3_000)}`, member: 'm\0' });
    const recorded = (await at.events(id)).filter(({ type }) => type === 'SignalRecorded').map(({ data }) => data);
    expect(recorded).toMatchObject([
      { status: 'ok', message: null, member: null, data: `${'x'.repeat(16_000)}… [cut: 1 more characters]` },
      { status: 'progress', message: expect.stringMatching(/^a by+… \[cut: 1003 more characters\]$/), member: 'm' },
    ]);
    await eventually(async () => expect((await at.view(id)).signals).toHaveLength(2));
  });

  it('to one whose time is over expires it and is gone, and the session is told', async () => {
    const { id, secret } = await at.arm({ expires_in_hours: 1e-9 });
    const late = await at.signal({ id, secret });
    expect(late).toMatchObject({ http: 410, body: { state: 'expired', resolved_at: expect.any(String) } });
    await eventually(() => expect(at.session.of(id)[0]?.text).toMatch(/expired after .*: nothing reported/));
  });

  it('leaves no secret in the log, in tables or in what is logged', async () => {
    const { id, secret } = await at.arm({ max_signals: 9 });
    await at.signal({ id, secret });
    await at.signal({ id, secret: 'f'.repeat(32) });
    const tables = await at.app.postgres.pool().query(
      `select (select json_agg(w) from waitpoint.waitpoints w)::text || (select json_agg(s) from waitpoint.signals s)::text
         || (select json_agg(r) from waitpoint.rejections r)::text as all`,
    );
    const everything = JSON.stringify([await at.events(id), tables.rows, at.app.log]);
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain('f'.repeat(32));
  });
});

describe('T97 a signal with a wrong secret or id', () => {
  it('changes nothing in the waitpoint, and a secret opens no other one', async () => {
    const [one, two] = [await at.arm(), await at.arm()];
    expect(await at.signal({ id: one.id, secret: two.secret })).toMatchObject({ http: 401 });
    for (const secret of [undefined, '', 7, null, one.secret.toUpperCase(), `${one.secret} `]) {
      expect((await at.signal({ id: one.id, secret })).http).toBe(401);
    }
    for (const id of [undefined, '', 'wp_000000000000', `${one.id}.>`, '*', 7]) {
      expect((await at.signal({ id, secret: one.secret })).http).toBe(404);
    }
    expect(await at.view(one.id)).toMatchObject({ state: 'armed', signals: [], quorum: { got: 0 } });
    expect((await at.signal({ id: one.id, secret: one.secret })).body).toEqual({ accepted: true, fired: true });
    const { rejections } = await at.app.ask<{ rejections: { reason: string; waitpoint_id: string | null }[] }>(
      'query',
      'rejections',
      {},
      { from: 'provision' },
    );
    expect(rejections[0]).toMatchObject({ reason: 'unknown_id', waitpoint_id: null, source: 'webhook' });
    expect(rejections).toContainEqual(expect.objectContaining({ reason: 'wrong_secret', waitpoint_id: one.id }));
  });

  it('gets 429 after 60 misses a minute, over all instances, while a right one is still taken', async () => {
    await using lone = await startWaiting();
    const { id, secret } = await lone.arm({ max_signals: 9 });
    const answers: number[] = [];
    for (let n = 0; n < 63; n++) answers.push((await lone.signal({ id, secret: 'guess' })).http);
    expect(answers).toEqual([...Array.from({ length: 60 }, () => 401), 429, 429, 429]);
    await using other = await startWaiting({ nats: lone.app.nats, postgres: lone.app.postgres });
    expect((await other.signal({ id: 'wp_000000000000', secret })).http).toBe(429);
    expect((await lone.signal({ id, secret })).http).toBe(202);
    // A minute later.
    await lone.app.postgres.pool().query(`update waitpoint.rejections set at = at - interval '61 seconds'`);
    await eventually(async () => expect((await lone.signal({ id, secret: 'guess' })).http).toBe(401));
    // While the other instance sweeps this one leaves it to it.
    await eventually(async () => {
      await lone.app.get(Sweeper).sweep();
      const { rows } = await lone.app.postgres.pool().query('select count(*)::int as n from waitpoint.rejections');
      expect(rows[0].n).toBeLessThanOrEqual(51);
    });
  });
});
