import { createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { claimsOf, errorOf, lab, type Lab, type Opened } from './testing/lab.js';
import { cortexContext } from './tools/cortex-context.tool.js';

let t: Lab;
beforeAll(async () => {
  t = await lab();
});
afterAll(async () => t[Symbol.asyncDispose]());

const DEVICES = ['mcp:cortex:devices:read', 'mcp:cortex:devices:write', 'mcp:cortex:devices:exec'];
const show = (session_id: string) =>
  t.query<{ session: Opened & { status: string; end_reason: string | null } }>('session', { session_id });

describe('a session that is opened', () => {
  it('has the groups of a direct one and the scopes that they need, and its token says all of it', async () => {
    const before = Date.now();
    const opened = await t.open({ workspace_id: 'w1', project: 'arm' });
    const { session_id, execution_id, groups, scopes } = opened;
    expect(opened).toMatchObject({ workspace_id: 'w1', project: 'arm', channel: `web:${session_id}` });
    expect(execution_id).toMatch(/^exec_local_[0-9a-z]+_[0-9a-f]{4}$/);
    expect(groups).toEqual(['cortex-core', 'cortex-ext', 'cortex-interaction-bridge', 'cortex-web']);
    expect(scopes).toEqual(['mcp:cortex:read', 'mcp:cortex:write', ...DEVICES]);
    expect(claimsOf(opened.token)).toEqual({
      iss: 'http://127.0.0.1:9030/session',
      aud: 'http://127.0.0.1:9030/mcp',
      sub: 'per_1',
      sid: session_id,
      kind: 'direct',
      groups,
      workspace: 'w1',
      project: 'arm',
      channel: `web:${session_id}`,
      scope: [...scopes].sort().join(' '),
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: Date.parse(opened.expires_at) / 1000,
    });
    expect(Math.abs(Date.parse(opened.expires_at) - before - 3_600_000)).toBeLessThan(60_000);
  });

  it('stands in the log with its composition, under its own id', async () => {
    const { session_id } = await t.open();
    const events = (await t.events()).filter(({ id }) => id === session_id);
    expect(events.map(({ type }) => type)).toEqual(['SessionStarted', 'CompositionResolved']);
    for (const event of events) expect(event).toMatchObject({ session_id, project: 'general' });
  });

  it('has a token that the public keys verify, and that nothing private goes out with', async () => {
    const { token } = await t.open();
    const { keys } = await t.app.ask<{ keys: Record<string, string>[] }>('query', 'jwks', {});
    const [head, body, signature] = token.split('.') as [string, string, string];
    const { kid, typ, alg } = JSON.parse(Buffer.from(head, 'base64url').toString()) as Record<string, string>;
    expect({ typ, alg }).toEqual({ typ: 'at+jwt', alg: 'EdDSA' });
    const jwk = keys.find((key) => key['kid'] === kid)!;
    expect(jwk).not.toHaveProperty('d');
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    expect(verify(null, Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  it('is found at once by its id alone, with what it was started with', async () => {
    const {
      session_id,
      token: _,
      expires_at: __,
      withheld: ___,
      ...rest
    } = await t.open({ workspace_id: 'w1', channel: 'slack:C1' });
    expect((await show(session_id)).session).toMatchObject({ session_id, status: 'open', ...rest });
  });

  it('is the same one when the same call comes again, as after a kill between commit and answer', async () => {
    const again = { key: 'open-1', caller: 'a'.repeat(64) };
    const first = await t.open({ project: 'first' }, again);
    const second = await t.open({ project: 'first' }, again);
    expect(second).toMatchObject({ session_id: first.session_id, execution_id: first.execution_id });
    const started = (await t.events()).filter(({ id, type }) => id === first.session_id && type === 'SessionStarted');
    expect(started).toHaveLength(1);
  });
});

describe('T04 the rights of a session', () => {
  it('are never more than those of the last token of its person', async () => {
    t.around.people.set('per_low', ['mcp:cortex:read', 'mcp:cortex:devices:read']);
    const { scopes, withheld, token } = await t.open({ person_id: 'per_low' });
    expect(scopes).toEqual(['mcp:cortex:read', 'mcp:cortex:devices:read']);
    expect(withheld).toEqual(['mcp:cortex:write', 'mcp:cortex:devices:write', 'mcp:cortex:devices:exec']);
    expect(claimsOf(token)['scope']).toBe('mcp:cortex:devices:read mcp:cortex:read');
  });

  it('are never more than was asked for, and no operator’s', async () => {
    t.around.people.set('per_admin', ['mcp:cortex:admin', 'mcp:cortex:read', 'mcp:cortex:write']);
    expect((await t.open({ person_id: 'per_admin' })).scopes).toEqual(['mcp:cortex:read', 'mcp:cortex:write']);
    expect((await t.open({ person_id: 'per_admin', scopes: ['mcp:cortex:read'] })).scopes).toEqual(['mcp:cortex:read']);
  });

  it('at backends are those of a token that the person showed within a day, and no longer', async () => {
    const granted = ['mcp:cortex:read', 'mcp:demo:read'];
    t.around.people.set('per_shown', granted);
    const asked = { person_id: 'per_shown', scopes: [...granted, 'mcp:demo:write'] };
    const { session_id, scopes, withheld } = await t.open(asked);
    expect(scopes).toEqual(granted);
    expect(withheld).toEqual(['mcp:demo:write']);
    t.around.seen.set('per_shown', new Date(Date.now() - 25 * 3_600_000).toISOString());
    const { token } = await t.command<{ token: string }>('issue_token', { session_id });
    expect(claimsOf(token)['scope']).toBe('mcp:cortex:read');
    // Whoever has never shown a token has none there, whoever asks.
    t.around.people.set('per_new', null);
    expect((await t.open({ ...asked, person_id: 'per_new' })).scopes).toEqual(['mcp:cortex:read']);
  });

  it('stay as they were in a fresh token, whatever the person has gained since', async () => {
    t.around.people.set('per_later', ['mcp:cortex:read']);
    const { session_id } = await t.open({ person_id: 'per_later' });
    t.around.people.set('per_later', ['mcp:cortex:read', 'mcp:cortex:write']);
    const { token } = await t.command<{ token: string }>('issue_token', { session_id });
    expect(claimsOf(token)['scope']).toBe('mcp:cortex:read');
  });

  it('lose in a fresh token what the person has lost since', async () => {
    t.around.people.set('per_fallen', ['mcp:cortex:read', 'mcp:cortex:write', 'mcp:cortex:devices']);
    const { session_id } = await t.open({ person_id: 'per_fallen' });
    t.around.people.set('per_fallen', ['mcp:cortex:read']);
    const { token } = await t.command<{ token: string }>('issue_token', { session_id });
    expect(claimsOf(token)['scope']).toBe('mcp:cortex:read');
  });

  it('reach into no workspace that does not exist or that the person does not belong to', async () => {
    expect(await errorOf(t.open({ workspace_id: 'nowhere' }))).toMatchObject({
      kind: 'not_found',
      field: 'workspace_id',
    });
    t.around.people.set('per_2', null);
    expect(await errorOf(t.open({ workspace_id: 'w1', person_id: 'per_2' }))).toMatchObject({
      kind: 'permission_denied',
      reason: 'not_a_member',
    });
    expect(
      (await t.events()).some((event) => event.type === 'SessionStarted' && event.data.person_id === 'per_2'),
    ).toBe(false);
  });

  it('are not renewed for who was taken out of the workspace', async () => {
    t.around.members.set('w2', ['per_1']);
    const { session_id } = await t.open({ workspace_id: 'w2' });
    t.around.members.set('w2', []);
    expect(await errorOf(t.command('issue_token', { session_id }))).toMatchObject({ reason: 'not_a_member' });
  });
});

describe('T05 a token', () => {
  it('lives as long as was asked for', async () => {
    const { session_id } = await t.open({ ttl_s: 60 });
    const { token } = await t.command<{ token: string }>('issue_token', { session_id, ttl_s: 90 });
    const { iat, exp } = claimsOf(token) as { iat: number; exp: number };
    expect(exp - iat).toBe(90);
  });

  it.each([0, -1, 1.5, 43_201, 'an hour'])('of %j seconds is not made', async (ttl_s) => {
    expect(await errorOf(t.open({ ttl_s }))).toMatchObject({ kind: 'invalid_argument', field: 'ttl_s' });
  });

  it('is in no event and no log line', async () => {
    const { token } = await t.open();
    const said = JSON.stringify(await t.events()) + t.app.log.join('\n');
    for (const part of token.split('.')) expect(said).not.toContain(part.slice(0, 40));
  });

  it('of a session that has ended is not made', async () => {
    const { session_id } = await t.open();
    await t.command('end_session', { session_id });
    const error = await errorOf(t.command('issue_token', { session_id }));
    expect(error).toMatchObject({ kind: 'failed_precondition', reason: 'invalid_state' });
    expect(error.message).toBe('session_id names a session that has ended; open a new one with: cortex session open');
  });
});

describe('the end of a session', () => {
  it('comes once, also when it is asked for by several at once', async () => {
    const { session_id } = await t.open();
    await Promise.all(
      Array.from({ length: 5 }, (_, i) => t.command('end_session', { session_id, reason: `reason ${i}` })),
    );
    const ends = (await t.events()).filter(({ id, type }) => id === session_id && type === 'SessionEnded');
    expect(ends).toHaveLength(1);
    expect((await show(session_id)).session).toMatchObject({ status: 'ended' });
  });

  it.each([
    ['not_found', { session_id: 'nope' }],
    ['invalid_argument', { session_id: 'a.b' }],
    ['invalid_argument', { session_id: 'x', reason: ' ' }],
    ['invalid_argument', {}],
  ])('answers %s to %j', async (kind, args) => {
    expect(await errorOf(t.command('end_session', args))).toMatchObject({ kind });
  });
});

describe('the run that a session is', () => {
  it('is told to audit when it begins and when it ends', async () => {
    const { session_id, execution_id } = await t.open({ workspace_id: 'w1', project: 'arm' });
    await t.command('end_session', { session_id });
    const told = await eventually(() => {
      const mine = t.around.runs.filter(({ args }) => args['execution_id'] === execution_id);
      expect(mine).toHaveLength(2);
      return mine;
    });
    expect(told).toEqual([
      {
        name: 'start_execution',
        workspace_id: 'w1',
        args: expect.objectContaining({
          session_id,
          kind: 'local',
          project: 'arm',
          person_id: 'per_1',
          trigger: 'cli',
        }),
      },
      {
        name: 'finish_execution',
        workspace_id: 'w1',
        args: expect.objectContaining({ session_id, outcome: 'completed', duration_s: expect.any(Number) }),
      },
    ]);
  });

  it('is told later when audit is away, and no session waits for it', async () => {
    t.around.auditUp = false;
    const { session_id, execution_id } = await t.open();
    await t.command('end_session', { session_id });
    expect(t.around.runs.some(({ args }) => args['execution_id'] === execution_id)).toBe(false);
    t.around.auditUp = true;
    await eventually(() => {
      expect(t.around.runs.filter(({ args }) => args['execution_id'] === execution_id)).toHaveLength(2);
    }, 60_000);
  });
});

describe('the list of sessions', () => {
  interface Listed {
    sessions: { session_id: string; workspace_id: string | null; status: string }[];
    next_cursor: string | null;
  }
  const list = (args: Record<string, unknown>) => t.query<Listed>('sessions', args);

  it('has those of a workspace, of none and of all, newest first, page by page', async () => {
    t.around.members.set('w9', ['per_1']);
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.push((await t.open({ workspace_id: 'w9' })).session_id);
    const none = await t.open();
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await list({ workspace_id: 'w9', limit: 2, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.sessions.map(({ session_id }) => session_id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(made.toReversed());
    expect((await list({ workspace_id: null })).sessions).toContainEqual(
      expect.objectContaining({ session_id: none.session_id, workspace_id: null, status: 'open' }),
    );
    const all = (await list({ limit: 500 })).sessions.map(({ session_id }) => session_id);
    expect(all).toEqual(expect.arrayContaining([...made, none.session_id]));
  });

  it('has open ones unless it is asked for others', async () => {
    const { session_id } = await t.open({ workspace_id: 'w1' });
    await t.command('end_session', { session_id });
    const ids = async (status?: string) =>
      (await list({ limit: 500, ...(status !== undefined && { status }) })).sessions.map((one) => one.session_id);
    expect(await ids()).not.toContain(session_id);
    expect(await ids('ended')).toContain(session_id);
    expect(await ids('all')).toContain(session_id);
  });

  it('takes no cursor that it did not give', async () => {
    expect(await errorOf(list({ cursor: 'nonsense' }))).toMatchObject({ kind: 'invalid_argument', field: 'cursor' });
  });
});

describe('cortex_context', () => {
  it('tells an agent where it runs, and no channel', async () => {
    const { session_id } = await t.open({ workspace_id: 'w1', project: 'arm' });
    const context = await t.app.call(cortexContext, {}, { workspace: 'w1', scope: { session_id } });
    expect(context).toEqual({
      sessionId: session_id,
      project: 'arm',
      backend: null,
      model: null,
      thinking: null,
      mode: null,
      board: null,
    });
  });

  it('shows a board only where a session can have one', async () => {
    const { session_id } = await t.open({ channel: 'slack:C7' });
    const context = await t.app.call(cortexContext, {}, { workspace: null, scope: { session_id } });
    expect(context).not.toHaveProperty('board');
  });

  it('is for sessions alone', async () => {
    expect(await errorOf(t.app.call(cortexContext, {}))).toMatchObject({ reason: 'no_session' });
    const foreign = t.app.call(cortexContext, {}, { scope: { session_id: 'unknown' } });
    expect(await errorOf(foreign)).toMatchObject({ reason: 'no_session' });
  });
});
