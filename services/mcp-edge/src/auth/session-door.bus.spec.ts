import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { exportJWK, generateKeyPair } from 'jose';
import { type Answer, startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { personOf, told, workspaceWith } from '../testing/gate-log.js';
import { testSessions, type TestSessions } from '../testing/sessions.js';
import { ran } from '../testing/sample-tools.js';

let edge: EdgeFixture;
let sessions: TestSessions;
let alice: string;
const stranger = await generateKeyPair('EdDSA', { extractable: true });

beforeAll(async () => {
  // A stricter door for people, which is none for agents.
  edge = await startEdge({
    env: { CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '10000', CORTEX_REQUIRED_POOL: 'blue', OAUTH_REQUIRED_SCOPES: 'base' },
  });
  sessions = await testSessions(edge);
  alice = await personOf(edge);
  await sessions.open('s1', { person_id: alice });
});
afterAll(async () => {
  await sessions[Symbol.asyncDispose]();
  await edge[Symbol.asyncDispose]();
});

const tokenOf = (sid: string, claims: Record<string, unknown> = {}, ...more: [header?: Record<string, unknown>]) =>
  sessions.token(sid, { sub: alice, ...claims }, ...more);
const whoami = async (token: string): Promise<Answer> => edge.call('whoami', {}, { token });
const said = (answer: Answer) =>
  answer.body.result.structuredContent as { identity: Record<string, unknown>; scopes_granted: string[] };
/** Status and the reason in words of a refusal. */
const refusal = ({ status, body }: Answer) => [status, body.error_description];
const CLOSED = 'the session of the token has ended, or there never was one';

describe('an agent', () => {
  it('is let in by the token of its session, in the name of its person', async () => {
    const { identity, scopes_granted } = said(await whoami(await tokenOf('s1')));
    expect(identity).toMatchObject({ sub: 'alice', person_id: alice });
    expect(scopes_granted).toEqual(['mcp:cortex:read', 'mcp:cortex:write']);
  });

  it('stands in the record of its call with its session, and with the subject of its person', async () => {
    await whoami(await tokenOf('s1', { project: 'recorded' }));
    expect(await edge.finished({ tool: 'whoami', session_id: 's1' })).toMatchObject({ caller_sub: 'alice' });
  });

  it('gets the tools of its groups and, in a workspace, those of that workspace', async () => {
    expect((await edge.call('sample_session', {}, { token: await tokenOf('s1') })).body.result.isError).not.toBe(true);
    const without = await edge.call('sample_session', {}, { token: await tokenOf('s1', { groups: ['cortex-core'] }) });
    expect(without.body.result._meta['cortex/error']).toMatchObject({ reason: 'refused_by_composition' });
    await workspaceWith(edge, 'w1', { members: [alice] });
    await sessions.open('s-w1', { workspace: 'w1', person_id: alice });
    const inside = await edge.call(
      'sample_workspace',
      { title: 'x' },
      { token: await tokenOf('s-w1', { workspace: 'w1' }) },
    );
    expect(inside.body.result.structuredContent).toEqual({ workspace: 'w1' });
  });

  it('in a run is let in as long as the log shows that run, and is in the space of it whatever the token says', async () => {
    const where = { workspace: 'w-run', id: 'run-1' };
    await workspaceWith(edge, 'w-run', { members: [alice], spaces: { s1: 'plan', s2: 'chat' } });
    await sessions.open('s-run', { workspace: 'w-run', person_id: alice, agent_id: 'coder', kind: 'run' });
    const claims = { workspace: 'w-run', agent_id: 'coder', run_id: 'run-1', space_id: 's2' };
    const token = await tokenOf('s-run', claims);
    const refused = async (one: string) => refusal(await whoami(one));
    expect(await refused(token)).toEqual([401, CLOSED]);
    const run = { run_id: 'run-1', agent_id: 'coder', space_id: 's1', conversation_id: null, ticket_id: null };
    const data = { ...run, mode: null, prompt: '', cost_cap_cents: null, in_reply_to_agent_id: null };
    await told(edge, 'session.run', where, { type: 'RunStarted', data });
    const inRun = await tokenOf('s-run', claims);
    const args = { title: 'x', workspace_id: 'w-run' };
    const { body } = await edge.call('sample_ticket', args, { token: inRun });
    expect(body.result._meta['cortex/error']).toMatchObject({ reason: 'refused_by_mode' });
    expect(await refused(await tokenOf('s-run', { ...claims, run_id: 'run-2' }))).toEqual([401, CLOSED]);
    await told(edge, 'session.run', where, { type: 'RunFailed', data: { run_id: 'run-1', reason: 'spec' } });
    expect(await refused(inRun)).toEqual([401, CLOSED]);
  });

  it('with an allow-list gets what is on it', async () => {
    await sessions.open('s-list', { person_id: alice });
    const token = await tokenOf('s-list', { allowlist: ['current_time'] });
    const answer = await edge.call('sample_session', {}, { token });
    expect(answer.body.result._meta['cortex/error']).toMatchObject({ reason: 'refused_by_composition' });
  });

  it('of nobody, and of somebody who was erased, goes on without a name', async () => {
    await sessions.open('s-system', { person_id: null });
    expect(said(await whoami(await tokenOf('s-system', { sub: 'system' }))).identity).toMatchObject({
      sub: 'system',
      person_id: null,
    });
    await sessions.open('s-erased', { person_id: 'per_erased' });
    expect(said(await whoami(await tokenOf('s-erased', { sub: 'per_erased' }))).identity).toMatchObject({
      sub: 'per_erased',
      email: '',
    });
  });

  it('is held to no pool and no baseline scope, which a person here is', async () => {
    expect((await whoami(await edge.token())).status).toBe(403);
    expect((await whoami(await tokenOf('s1'))).status).toBe(200);
  });
});

describe('T02 T04 a session token', () => {
  it('never says more than its session was started with', async () => {
    await sessions.open('s-low', { person_id: alice, scopes: ['mcp:cortex:read'] });
    const scope = 'mcp:cortex:read mcp:cortex:write mcp:cortex:devices mcp:cortex:admin other';
    const { scopes_granted } = said(await whoami(await tokenOf('s-low', { scope })));
    expect(scopes_granted).toEqual(['mcp:cortex:read']);
    const before = ran('sample_slow');
    const write = await edge.call(
      'sample_slow',
      { ms: 0 },
      { token: await tokenOf('s-low', { scope, workspace: 'w1' }) },
    );
    expect(write.status).toBe(403);
    expect(ran('sample_slow')).toBe(before);
  });
});

describe('T02 whoever has the signing key', () => {
  it('makes no session more than it was started as: not of another person, nor in another workspace', async () => {
    await workspaceWith(edge, 'w-rich', { members: [await personOf(edge, 'rich')] });
    await sessions.open('s-poor', { person_id: alice, groups: ['cortex-core'], allowlist: ['sample_session'] });
    const token = await tokenOf('s-poor', {
      sub: await personOf(edge, 'rich'),
      workspace: 'w-rich',
      groups: ['cortex-core', 'cortex-ext'],
      allowlist: ['sample_session', 'sample_workspace'],
      agent_id: 'another',
      kind: 'run',
    });
    expect(said(await whoami(token)).identity).toMatchObject({ sub: 'alice', person_id: alice });
    expect(await edge.edge.authenticator.authenticateSession(token)).toMatchObject({
      principal: { type: 'agent', id: 's-poor', roles: [] },
      session: { kind: 'direct', groups: new Set(['cortex-core']), allowlist: new Set(['sample_session']) },
      scope: { session_id: 's-poor', user_id: alice },
    });
    for (const [tool, args] of [
      ['sample_session', {}],
      ['sample_workspace', { workspace_id: 'w-rich', title: 'x' }],
    ] as const) {
      const answer = await edge.call(tool, args, { token });
      expect(answer.body.result._meta['cortex/error']).toMatchObject({ reason: 'refused_by_composition' });
    }
  });
});

describe('T01 T02 a forged session token', () => {
  const b64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const bodyOf = (token: string) => token.split('.')[1]!;
  const NO_ACCESS_TOKEN = 'the typ of the token says that it is no access token';
  const FORGED: [name: string, reason: string, make: () => string | Promise<string>][] = [
    [
      'by a stranger under a known key id',
      'the signature of the token does not fit',
      () => sessions.token('s1', { sub: alice }, {}, stranger.privateKey),
    ],
    [
      'by a stranger under an id of its own',
      'the key that signed the token is unknown',
      () => sessions.token('s1', { sub: alice }, { kid: 'mine' }, stranger.privateKey),
    ],
    [
      'by the issuer of the people',
      'the signature algorithm of the token is not accepted here',
      async () =>
        edge.issuer.token(
          edge.url,
          {
            iss: `${edge.origin}/session`,
            sid: 's1',
            kind: 'direct',
            groups: [],
            sub: alice,
          },
          { typ: 'at+jwt' },
        ),
    ],
    [
      'by the session key in the name of that issuer',
      'the signature algorithm of the token is not accepted here',
      () => sessions.token('s1', { iss: edge.issuer.url, sub: 'alice', scope: 'base mcp:cortex:admin', pool: 'blue' }),
    ],
    [
      'without a signature',
      'the signature algorithm of the token is not accepted here',
      async () => `${b64({ alg: 'none', typ: 'at+jwt' })}.${bodyOf(await tokenOf('s1'))}.`,
    ],
    [
      'with an HMAC of the public key',
      'the signature algorithm of the token is not accepted here',
      async () => {
        const text = `${b64({ alg: 'HS256', typ: 'at+jwt', kid: 'session-1' })}.${bodyOf(await tokenOf('s1'))}`;
        const { x } = await exportJWK(sessions.publicKey);
        return `${text}.${createHmac('sha256', Buffer.from(x!, 'base64url')).update(text).digest('base64url')}`;
      },
    ],
    [
      'with another body',
      'the signature of the token does not fit',
      async () => {
        const [head, body, signature] = (await tokenOf('s1')).split('.');
        const claims = JSON.parse(Buffer.from(body!, 'base64url').toString()) as object;
        return `${head}.${b64({ ...claims, sid: 's2' })}.${signature}`;
      },
    ],
    ['typed as another JWT', NO_ACCESS_TOKEN, () => tokenOf('s1', {}, { typ: 'JWT' })],
    ['typed as none', NO_ACCESS_TOKEN, () => tokenOf('s1', {}, { typ: undefined })],
    [
      'for another server',
      'the audience of the token is not this server',
      () => tokenOf('s1', { aud: 'http://x/mcp' }),
    ],
    ['that has expired', 'the token has expired', () => tokenOf('s1', { exp: 1 })],
    ['without a session', 'the token names no session', () => tokenOf('s1', { sid: undefined })],
    ['without an id', 'the token has no jti', () => tokenOf('s1', { jti: undefined })],
    ['of an unknown kind', 'the token is no signed JWT', () => tokenOf('s1', { kind: 'person' })],
    ['with groups that are no list', 'the token is no signed JWT', () => tokenOf('s1', { groups: 'cortex-core' })],
    ['with a session that is no id', 'the token is no signed JWT', () => tokenOf('s1', { sid: 'a.b' })],
  ];
  it.each(FORGED)('%s is refused: %s', async (_, reason, make) => {
    const answer = await whoami(await make());
    expect(refusal(answer)).toEqual([401, reason]);
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });
});

describe('T06 a session', () => {
  it('that has ended is refused at once, though its token was verified a moment ago', async () => {
    await sessions.open('s-ends', { person_id: alice });
    const token = await tokenOf('s-ends');
    expect((await whoami(token)).status).toBe(200);
    await sessions.end('s-ends');
    expect(refusal(await whoami(token))).toEqual([401, CLOSED]);
    expect(refusal(await whoami(await tokenOf('s-ends')))).toEqual([401, CLOSED]);
  });

  it('that there never was is refused', async () => {
    expect(refusal(await whoami(await tokenOf('s-never')))).toEqual([401, CLOSED]);
  });

  it('that is on its way here is waited for', async () => {
    const answer = whoami(await tokenOf('s-coming'));
    await sessions.open('s-coming', { person_id: alice, untold: true });
    expect((await answer).status).toBe(200);
  });

  it('that ends in the middle of a call lets the call end, and no other begin', async () => {
    await sessions.open('s-middle', { person_id: alice, workspace: 'w1' });
    const token = await tokenOf('s-middle', { workspace: 'w1' });
    const before = ran('sample_slow');
    const running = edge.call('sample_slow', { ms: 1_500, mark: 'm' }, { token });
    await eventually(() => ran('sample_slow') > before);
    await sessions.end('s-middle', 'w1');
    expect((await whoami(token)).status).toBe(401);
    const { status, body } = await running;
    expect([status, body.result.structuredContent]).toEqual([200, { mark: 'm' }]);
    expect(await edge.finished({ tool: 'sample_slow', session_id: 's-middle' })).toMatchObject({
      outcome: 'succeeded',
    });
  });
});

describe('P63 the lists of two sessions', () => {
  it('are each of its own groups, whichever of them asks first', async () => {
    await sessions.open('s-all', { person_id: alice });
    await sessions.open('s-core', { person_id: alice, groups: ['cortex-core'] });
    const names = async (sid: string) => {
      const { body } = await edge.ask('tools/list', {}, { token: await tokenOf(sid) });
      return (body.result.tools as { name: string }[]).map(({ name }) => name);
    };
    for (const [sid, there] of [
      ['s-all', true],
      ['s-core', false],
      ['s-all', true],
    ] as const)
      expect((await names(sid)).includes('sample_session')).toBe(there);
  });
});

describe('T03 a session token', () => {
  it('is another caller than its person, and than another session of the same person', async () => {
    for (const sid of ['s-a', 's-b']) await sessions.open(sid, { person_id: alice, workspace: 'w1' });
    const [a, b] = [await tokenOf('s-a', { workspace: 'w1' }), await tokenOf('s-b', { workspace: 'w1' })];
    const key = { meta: { 'cortex/idempotencyKey': 'same' } };
    const call = (token: string) => edge.call('sample_slow', { ms: 0, mark: 'k' }, { token, ...key });
    const before = ran('sample_slow');
    await call(a);
    await call(a);
    expect(ran('sample_slow')).toBe(before + 1);
    await call(b);
    expect(ran('sample_slow')).toBe(before + 2);
  });

  it('at the loopback door is taken, and a person’s is not', async () => {
    const { authenticator } = edge.edge;
    expect(await authenticator.authenticateSession(await tokenOf('s1'))).toMatchObject({ kind: 'agent' });
    const person = await authenticator.authenticateSession(await edge.token({ scope: 'base', pool: 'blue' }));
    expect(person).toMatchObject({ status: 401 });
    expect(await authenticator.authenticateSession('nonsense')).toMatchObject({ status: 401 });
  });
});

it('T05 no part of a session token gets into a log line or a record', async () => {
  const token = await tokenOf('s1');
  await whoami(token);
  await whoami(`${token}x`);
  const kept = edge.app.log.join('\n') + JSON.stringify(await edge.records());
  for (const part of token.split('.').slice(1)) expect(kept).not.toContain(part.slice(0, 40));
});
