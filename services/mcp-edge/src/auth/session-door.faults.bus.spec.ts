import { describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { type Answer, startEdge } from '../testing/edge-fixture.js';
import { record, workspaceWith } from '../testing/gate-log.js';
import { testSessions } from '../testing/sessions.js';
import { ran } from '../testing/sample-tools.js';

// Each with an edge of its own, since what breaks stays broken.

/** Status and the reason in words of a refusal. */
const refusal = ({ status, body }: Answer) => [status, body.error_description];
const BEHIND = 'it cannot be told just now whether the session of the token is open';

describe('a token that expires in a running call', () => {
  it('lets the call end, and no other begin', async () => {
    await using strict = await startEdge({ env: { OAUTH_CLOCK_SKEW_SECONDS: '0' } });
    await using its = await testSessions(strict);
    await workspaceWith(strict, 'w1');
    await its.open('s1', { workspace: 'w1', person_id: null });
    const exp = Math.floor(Date.now() / 1000) + 6;
    const token = await its.token('s1', { exp, workspace: 'w1' });
    const before = ran('sample_slow');
    const running = strict.call('sample_slow', { ms: 7_000, mark: 'late' }, { token });
    await eventually(() => ran('sample_slow') > before);
    const { status, body } = await running;
    expect([status, body.result.structuredContent]).toEqual([200, { mark: 'late' }]);
    expect(refusal(await strict.call('whoami', {}, { token }))).toEqual([401, 'the token has expired']);
  });
});

describe('while the keys of sessions cannot be asked for', () => {
  it('known ones serve, for tokens that were never seen too', async () => {
    await using other = await startEdge();
    await using its = await testSessions(other);
    await its.open('s1');
    expect((await other.call('whoami', {}, { token: await its.token('s1') })).status).toBe(200);
    its.leave();
    expect((await other.call('whoami', {}, { token: await its.token('s1') })).status).toBe(200);
    expect(its.asked).toBe(1);
  });

  it('an edge that never had them refuses, and lets in as soon as it has', async () => {
    await using other = await startEdge();
    await using silent = await testSessions(other);
    silent.leave();
    const token = await silent.token('s1');
    expect(refusal(await other.call('whoami', {}, { token }))).toEqual([
      503,
      'the keys of the issuer cannot be fetched just now',
    ]);
    await using back = await testSessions(other);
    await back.open('s1');
    const good = await back.token('s1');
    await eventually(async () => expect((await other.call('whoami', {}, { token: good })).status).toBe(200));
  });
});

describe('when the session key changes', () => {
  it('both are good while the old one is listed, and it is not when it has left', async () => {
    await using other = await startEdge();
    await using its = await testSessions(other);
    await its.open('s1');
    const status = async (token: string) => (await other.call('whoami', {}, { token })).status;
    const old = await its.token('s1');
    expect(await status(old)).toBe(200);
    await its.rotate(true);
    expect(await status(await its.token('s1'))).toBe(200);
    expect(await status(old)).toBe(200);
  });

  it('T02 a token of a key that has left is refused though it was verified a moment ago', async () => {
    await using other = await startEdge();
    await using its = await testSessions(other);
    await its.open('s1');
    const status = async (token: string) => (await other.call('whoami', {}, { token })).status;
    const old = await its.token('s1');
    expect(await status(old)).toBe(200);
    await its.rotate(false);
    expect(await status(await its.token('s1'))).toBe(200);
    expect(await status(old)).toBe(401);
  });
});

describe('T06 while the view of sessions stands still', () => {
  it('no session token is accepted, and the answer says to try again', async () => {
    await using other = await startEdge();
    await using its = await testSessions(other);
    await its.open('s1');
    const token = await its.token('s1');
    expect((await other.call('whoami', {}, { token })).status).toBe(200);
    await other.app.host.projections.stop();
    // What the view does not know: that this session has ended.
    await its.open('s-other', { untold: true });
    const refused = await eventually(async () => {
      const answer = await other.call('whoami', {}, { token });
      expect(answer.status).toBe(503);
      return answer;
    });
    expect(refusal(refused)).toEqual([503, BEHIND]);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await other.call('whoami', {}, { token: await other.token() })).status).toBe(200);
  });
});

describe('T06 an edge that starts again', () => {
  it('refuses a session that ended while it was away, and knows those that are open', async () => {
    await using first = await startEdge();
    await using before = await testSessions(first);
    await before.open('s-open');
    await before.open('s-ended');
    await first.app.stop();
    const ended = { type: 'SessionEnded' as const, data: { reason: 'closed' } };
    await record(first, 'session.session', { workspace: null, id: 's-ended' }, ended);
    await before[Symbol.asyncDispose]();

    await using second = await startEdge({ nats: first.nats, postgres: first.postgres });
    await using its = await testSessions(second);
    /** Once its views are fresh: on a loaded machine they may be behind, and the answer is to try again. */
    const status = (sid: string) =>
      eventually(async () => {
        const { status: told } = await second.call('whoami', {}, { token: await its.token(sid) });
        return told === 503 ? Promise.reject(new Error('behind')) : told;
      });
    expect(await status('s-open')).toBe(200);
    expect(await status('s-ended')).toBe(401);
  });
});

describe('T14 the rate limit', () => {
  it('is one for all tokens of a session, and another one for each session', async () => {
    await using other = await startEdge({ env: { CORTEX_RATE_LIMIT_PER_MINUTE: '10' } });
    await using its = await testSessions(other);
    await its.open('s1');
    await its.open('s2');
    const ask = async (token: string) => (await other.call('whoami', {}, { token })).status;
    const [a, b, of2] = [await its.token('s1'), await its.token('s1'), await its.token('s2')];
    const statuses: number[] = [];
    for (let i = 0; i < 24; i++) statuses.push(await ask(i % 2 === 0 ? a : b));
    // A minute may end in between: then the window of the next one was opened.
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(4);
    expect(await ask(of2)).toBe(200);
  });
});
