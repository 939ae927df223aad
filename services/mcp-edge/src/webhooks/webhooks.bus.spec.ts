import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { answer, readRequest } from '@cortex/bus';
import type { BusRequest, ServiceName } from '@cortex/contracts';
import { eventually } from '@cortex/testing';
import { defineCommand, defineService } from '@cortex/service-kit';
import { z } from 'zod';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { personOf, told, workspaceWith } from '../testing/gate-log.js';
import { type RawClient, rawClient } from '../testing/raw-client.js';
import { ran, sampleService, seen } from '../testing/sample-tools.js';
import { testSessions, type TestSessions } from '../testing/sessions.js';

const SECRET = 'the-servers-own-secret';

/** Stands in the place of `waitpoint`: says what it was asked. */
const waitpoint = defineService({
  name: 'waitpoint',
  config: z.object({}),
  tools: [],
  commands: [
    defineCommand({
      name: 'signal',
      input: z.object({
        id: z.string(),
        secret: z.string(),
        source: z.literal('webhook'),
        status: z.string().optional(),
        message: z.string().optional(),
        member: z.string().optional(),
        data: z.unknown(),
      }),
      handle: (args) => (args.id === 'wp_gone' ? { http: 410, body: { error: 'gone', state: 'fired' } } : said(args)),
    }),
  ],
});
const said = (args: object) => ({ http: 202, body: { accepted: true, fired: false, asked: args } });

/** And `billing`, likewise. */
const billing = defineService({
  name: 'billing',
  config: z.object({}),
  tools: [],
  commands: [
    defineCommand({
      name: 'record_usage',
      input: z.object({ sessionId: z.string(), model: z.string(), key: z.string() }),
      handle: (args, { caller, scope }) => ({ recorded: true, cost_usd: 0.5, args, caller, scope }),
    }),
  ],
});

let edge: EdgeFixture;
let sessions: TestSessions;
let client: RawClient;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService, waitpoint, billing], env: { CORTEX_WEBHOOK_TOKEN: SECRET } });
  sessions = await testSessions(edge);
  await workspaceWith(edge, 'w1');
  await open('s1');
  await open('elsewhere', { workspace: 'unknown' });
  await open('core-only', { groups: ['cortex-core'] });
  client = rawClient(`http://127.0.0.1:${edge.edge.webhooks.port}`, '');
});
afterAll(async () => {
  await sessions[Symbol.asyncDispose]();
  await edge[Symbol.asyncDispose]();
});

const busOf = async (service: ServiceName) => {
  const bus = await edge.nats.busAs(service);
  return Object.assign(bus, { [Symbol.asyncDispose]: () => bus.close() });
};
/** In a workspace, to which the sample tools belong. */
const open = (sid: string, more: Parameters<TestSessions['open']>[1] = {}) =>
  sessions.open(sid, { workspace: 'w1', person_id: null, ...more });
const tokenOf = (sid: string, claims: Record<string, unknown> = {}) =>
  sessions.token(sid, { workspace: 'w1', sub: 'system', ...claims });

/** Status and parsed body. */
async function post(path: string, body: unknown, token: string | undefined = SECRET) {
  const { status, json } = await client.ask({ path, body, token: null, headers: { 'x-cortex-token': token } });
  // oxlint-disable-next-line typescript/no-explicit-any -- what a server answered is looked at field by field
  return { status, json: json as any };
}
const call = async (tool: string, args: unknown, token?: string, more: object = {}) =>
  (await post('/webhook/tool', { tool, arguments: args, ...more }, token)).json;

describe('a signal', () => {
  const signal = { id: 'wp_1', secret: 's', status: 'ok', message: 'exit=0', member: 'a', data: { loss: 0.1 } };
  const send = (body: object) => client.ask({ path: '/webhook/signal', body, token: null });

  it('needs no token and reaches the waitpoint with the fields of a signal alone', async () => {
    const { status, json } = await send({ ...signal, source: 'spool', more: 1 });
    const asked = { ...signal, source: 'webhook' };
    expect({ status, json }).toEqual({ status: 202, json: { accepted: true, fired: false, asked } });
  });
  it('loses a message that is no text, and without an id names none', async () => {
    const { json } = await send({ ...signal, id: 7, message: { a: 1 } });
    expect(json.asked).toEqual({ ...signal, id: '', message: undefined, source: 'webhook' });
  });
  it('has the status that the waitpoint gives', async () => {
    const { status, json } = await send({ ...signal, id: 'wp_gone' });
    expect({ status, json }).toEqual({ status: 410, json: { error: 'gone', state: 'fired' } });
  });
});

describe('a tool call', () => {
  it('T54 leaves the two records of any other, with its session and the way that it came by', async () => {
    const answer = await call('sample_echo', { text: 'recorded' }, await tokenOf('s1'));
    expect(answer).toEqual({ success: true, data: { text: 'recorded' }, content: [expect.anything()] });
    const finished = await edge.finished({ tool: 'sample_echo', transport: 'loopback', session_id: 's1' });
    const both = (await edge.records()).filter((record) => record.call_id === finished.call_id);
    expect(both.map(({ type }) => type)).toEqual(['ToolCallStarted', 'ToolCallFinished']);
  });
  it.each([
    ['sample_session', {}, 'core-only'],
    ['sample_spawn', { command: 'id' }, 's1'],
    ['sample_risky', { path: '/x' }, 's1'],
    ['sample_workspace', { title: 'x' }, 'elsewhere'],
    ['sample_echo', { txt: 1 }, 's1'],
    ['no_such_tool', {}, 's1'],
  ])('T54 of %s with %j is refused as over MCP, and recorded at the same gate', async (tool, args, sid) => {
    const claims = { 'core-only': { groups: ['cortex-core'] }, elsewhere: { workspace: 'unknown' } };
    const token = await tokenOf(sid, claims[sid as keyof typeof claims]);
    const over = await edge.call(tool, args, { token });
    const fault = over.body.result?._meta['cortex/error'];
    const refused = await call(tool, args, token);
    expect(refused).toMatchObject({ success: false, error: expect.any(String), kind: expect.any(String) });
    if (fault !== undefined) expect(refused).toMatchObject({ kind: fault.kind, error: fault.message });
    const gates = (await edge.records()).flatMap((r) =>
      'tool' in r && r.tool === tool && r.session_id === sid && 'gate' in r ? [r.gate] : [],
    );
    expect(gates).toHaveLength(2);
    expect(gates[0]).toBe(gates[1]);
  });
  it('of a session is that of its token: another sessionId is refused and nothing runs', async () => {
    const before = ran('sample_echo');
    const token = await tokenOf('s1');
    const other = await call('sample_echo', { text: 'x' }, token, { sessionId: 'core-only' });
    expect(other).toMatchObject({ success: false, kind: 'permission_denied', field: 'sessionId' });
    expect(ran('sample_echo')).toBe(before);
    expect(await call('sample_echo', { text: 'x' }, token, { sessionId: 's1' })).toMatchObject({ success: true });
  });
  it("by the server's secret names an open session and has that session's rights, no more", async () => {
    expect(await call('sample_session', {}, SECRET, { sessionId: 's1' })).toMatchObject({ success: true });
    expect(await edge.finished({ tool: 'sample_session', client_id: 'webhook' })).toMatchObject({ session_id: 's1' });
    expect(await call('sample_session', {}, SECRET, { sessionId: 'core-only' })).toMatchObject({
      reason: 'refused_by_composition',
    });
    expect(await call('sample_echo', { text: 'x' }, SECRET)).toMatchObject({
      field: 'sessionId',
      kind: 'invalid_argument',
    });
    for (const sessionId of ['s-unknown', '', 7, {}])
      expect(await call('sample_echo', { text: 'x' }, SECRET, { sessionId })).toMatchObject({ field: 'sessionId' });
  });
  it("by the server's secret waits for a session that was opened this moment", async () => {
    const answered = call('sample_echo', { text: 'x' }, SECRET, { sessionId: 's-new' });
    await open('s-new', { untold: true });
    expect(await answered).toMatchObject({ success: true });
  });
  it('with a key gives its first result again, and with other arguments is a conflict', async () => {
    const token = await tokenOf('s1');
    const key = { idempotencyKey: 'once' };
    const before = ran('sample_echo');
    const [first, again] = [
      await call('sample_echo', { text: 'a' }, token, key),
      await call('sample_echo', { text: 'a' }, token, key),
    ];
    expect(again).toEqual(first);
    // The session's own, whoever acts in it.
    expect(await call('sample_echo', { text: 'a' }, SECRET, { ...key, sessionId: 's1' })).toEqual(first);
    expect(ran('sample_echo')).toBe(before + 1);
    expect(await call('sample_echo', { text: 'b' }, token, key)).toMatchObject({ reason: 'idempotency_mismatch' });
  });
  it('that ran and failed is a result; a fault of the tool and a bug are none, and tell nothing of us', async () => {
    const token = await tokenOf('s1');
    expect(await call('sample_fail', { how: 'is_error' }, token)).toMatchObject({ success: true, isError: true });
    expect(await call('sample_fail', { how: 'taken' }, token)).toEqual({
      success: false,
      error: 'name is taken; use another one',
      kind: 'conflict',
      reason: 'name_taken',
      field: 'name',
    });
    const bug = await call('sample_fail', { how: 'bug' }, token);
    expect(bug).toMatchObject({ success: false, kind: 'internal' });
    expect(JSON.stringify(bug)).not.toMatch(/srv|TypeError/);
  });
  it('P89 with a misspelled field is refused with the name that was meant, not run without it', async () => {
    const before = ran('sample_echo');
    const { json } = await post(
      '/webhook/tool',
      { tool: 'sample_echo', argumnets: { text: 'x' } },
      await tokenOf('s1'),
    );
    expect(json).toMatchObject({
      reason: 'unknown_argument',
      field: 'argumnets',
      error: expect.stringContaining('arguments'),
    });
    expect(ran('sample_echo')).toBe(before);
  });
  it('ends when its caller goes away, and its service is told', async () => {
    const token = await tokenOf('s1');
    const stop = new AbortController();
    const body = JSON.stringify({ tool: 'sample_slow', arguments: { ms: 15_000, mark: 'left' } });
    const headers = { 'x-cortex-token': token, 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${edge.edge.webhooks.port}/webhook/tool`;
    const before = ran('sample_slow');
    const left = fetch(url, { method: 'POST', body, headers, signal: stop.signal });
    await eventually(() => ran('sample_slow') > before);
    stop.abort();
    await expect(left).rejects.toThrow(/abort/);
    await eventually(() => seen.cancelled.has('left'));
    expect(await edge.finished({ tool: 'sample_slow', outcome: 'cancelled' })).toMatchObject({ transport: 'loopback' });
  });
  it('of a session that ends meanwhile ends well, and the next one is 401', async () => {
    await open('s-ends');
    const token = await tokenOf('s-ends');
    const before = ran('sample_slow');
    const running = call('sample_slow', { ms: 500, mark: 'whole' }, token);
    await eventually(() => ran('sample_slow') > before);
    await sessions.end('s-ends', 'w1');
    expect(await running).toMatchObject({ success: true, data: { mark: 'whole' } });
    expect(await post('/webhook/tool', { tool: 'sample_echo', arguments: { text: 'x' } }, token)).toMatchObject({
      status: 401,
    });
    expect(await call('sample_echo', { text: 'x' }, SECRET, { sessionId: 's-ends' })).toMatchObject({
      kind: 'not_found',
    });
  });
});

it('T14 calls of a session over MCP and over loopback count in one bucket, and another session has its own', async () => {
  await using limited = await startEdge({ env: { CORTEX_WEBHOOK_TOKEN: SECRET, CORTEX_RATE_LIMIT_PER_MINUTE: '12' } });
  await using own = await testSessions(limited);
  await workspaceWith(limited, 'w1', { members: ['per_1'] });
  await own.open('s1', { workspace: 'w1' });
  await own.open('s2', { workspace: 'w1' });
  const raw = rawClient(`http://127.0.0.1:${limited.edge.webhooks.port}`, '');
  const send = async (token: string, more: object = {}) => {
    const body = { tool: 'sample_echo', arguments: { text: 'x' }, ...more };
    return (await raw.ask({ path: '/webhook/tool', token: null, body, headers: { 'x-cortex-token': token } })).json;
  };
  const token = await own.token('s1', { workspace: 'w1' });
  const limitedOnes: boolean[] = [];
  for (let i = 0; i < 40; i++) {
    // In turn over MCP, over loopback, and by the server's secret in the session's place.
    if (i % 3 === 0) limitedOnes.push((await limited.call('sample_echo', { text: 'x' }, { token })).status === 429);
    else {
      const { reason } = await (i % 3 === 1 ? send(token) : send(SECRET, { sessionId: 's1' }));
      limitedOnes.push(reason === 'rate_limited');
    }
  }
  // A minute may turn in between; then there are two windows of twelve.
  const passed = limitedOnes.filter((one) => !one).length;
  expect([12, 24]).toContain(passed);
  expect(await send(await own.token('s2', { workspace: 'w1' }))).toMatchObject({ success: true });
});

describe('usage', () => {
  const usage = { sessionId: 's1', model: 'm', key: 'k' };
  it('goes to billing in the name of its session, and is recorded as a request', async () => {
    const { json } = await post('/webhook/usage', usage, await tokenOf('s1'));
    expect(json).toMatchObject({
      success: true,
      data: { args: usage, caller: { type: 'agent' }, scope: { session_id: 's1', project: 'general' } },
    });
    const records = await edge.records();
    expect(records.find((r) => r.type === 'RequestRecorded' && r.method === 'POST /webhook/usage')).toMatchObject({
      session_id: 's1',
      outcome: 'succeeded',
      transport: 'loopback',
    });
  });
  it("by the server's secret names any session, an ended one too, and never none", async () => {
    expect((await post('/webhook/usage', { ...usage, sessionId: 's-long-gone' })).json).toMatchObject({
      success: true,
      data: { caller: { type: 'system' }, scope: { session_id: 's-long-gone' } },
    });
    expect((await post('/webhook/usage', { ...usage, sessionId: undefined })).json).toMatchObject({
      field: 'sessionId',
    });
  });
  it('of another session is refused to an agent', async () => {
    const { json } = await post('/webhook/usage', { ...usage, sessionId: 'core-only' }, await tokenOf('s1'));
    expect(json).toMatchObject({ kind: 'permission_denied', field: 'sessionId' });
  });
  it('that billing refuses has the words of billing', async () => {
    expect((await post('/webhook/usage', { sessionId: 's1', model: 'm' })).json).toMatchObject({ field: 'key' });
  });

  it('of somebody who is no member any more is refused as a call is, unless the server itself reports it', async () => {
    const person = await personOf(edge);
    await workspaceWith(edge, 'w-left', { members: [person] });
    const facts = { workspace: 'w-left', person_id: person };
    await sessions.open('s-left', facts);
    const token = await sessions.token('s-left', facts);
    const mine = { ...usage, sessionId: 's-left' };
    expect((await post('/webhook/usage', mine, token)).json).toMatchObject({ success: true });
    const removed = { type: 'WorkspaceMemberRemoved', data: { principal_id: person } } as const;
    await told(edge, 'team.workspace', { workspace: 'w-left' }, removed);
    for (const path of ['/webhook/usage', '/webhook/tool']) {
      const body =
        path === '/webhook/usage' ? mine : { sessionId: 's-left', tool: 'sample_echo', arguments: { text: 'x' } };
      expect((await post(path, body, token)).json).toMatchObject({ kind: 'permission_denied', reason: 'not_a_member' });
    }
    expect((await post('/webhook/usage', mine)).json).toMatchObject({ success: true });
  });
});

describe('the route of waitpoints', () => {
  it.each([undefined, 'fire', 'constructor', 3])('knows create, check and cancel: %j is none', async (action) => {
    const { json } = await post('/webhook/waitpoint', { action, label: 'x' }, await tokenOf('s1'));
    expect(json).toMatchObject({ kind: 'invalid_argument', field: 'action', error: expect.stringContaining('create') });
  });
  it('takes the channel and the project of the session and no other', async () => {
    const token = await tokenOf('s1');
    for (const [name, value] of [
      ['channel', 'slack:C1'],
      ['project', 'secret'],
    ])
      expect((await post('/webhook/waitpoint', { action: 'check', [name!]: value }, token)).json).toMatchObject({
        kind: 'permission_denied',
        field: name,
      });
    const own = { action: 'check', channel: 'web:1', project: 'general', sessionId: 's1' };
    // As far as the tools of the service, which is not here.
    expect((await post('/webhook/waitpoint', own, token)).json).toMatchObject({ kind: 'not_found', field: 'name' });
  });
});

it('a service that is away is named in our words, and with nothing of the bus', async () => {
  const { json } = await client.ask({
    method: 'GET',
    path: '/webhook/devices',
    token: null,
    headers: { 'x-cortex-token': SECRET },
  });
  expect(json).toEqual({
    success: false,
    error: 'remote-ops is away and nothing was changed; try again in a moment',
    kind: 'unavailable',
  });
});

it('a session is told of the machines that it may reach, the operator of all, and of those that are online', async () => {
  await using bus = await busOf('remote-ops');
  const asked: BusRequest[] = [];
  bus.subscribe('cortex.query.remote-ops.devices', (message) => {
    void readRequest(bus, message).then((request) => {
      asked.push(request);
      const devices = [
        { name: 'lab', online: true },
        { name: 'off', online: false },
      ];
      return answer(bus, message, JSON.stringify({ ok: true, data: { devices } }));
    });
  });
  const devices = (token: string) =>
    client.ask({ method: 'GET', path: '/webhook/devices', token: null, headers: { 'x-cortex-token': token } });
  await eventually(async () => expect((await devices(SECRET)).json).toEqual({ devices: ['lab'] }));
  expect((await devices(await tokenOf('s1'))).json).toEqual({ devices: ['lab'] });
  expect(asked.slice(-2)).toMatchObject([
    { args: { reachable: false }, principal: { type: 'system' } },
    { args: { reachable: true }, scope: { session_id: 's1' }, workspace_id: 'w1' },
  ]);
});

it('a group that a session was started without has no route for it', async () => {
  await open('no-core', { groups: ['cortex-ext'] });
  const token = await tokenOf('no-core', { groups: ['cortex-ext'] });
  const { json } = await client.ask({
    method: 'GET',
    path: '/webhook/devices',
    token: null,
    headers: { 'x-cortex-token': token },
  });
  expect(json).toMatchObject({ kind: 'permission_denied', reason: 'refused_by_composition' });
});

it('is a part of readiness, names its port when it is taken, and a stop sends new requests away', async () => {
  expect((await edge.app.host.health.report()).checks['mcp-edge.webhooks']).toEqual({ ok: true });
  const taken = String(edge.edge.webhooks.port);
  await expect(startEdge({ env: { WEBHOOK_PORT: taken } })).rejects.toMatchObject({
    message: `WEBHOOK_PORT ${taken} is taken; set another one`,
  });
  edge.edge.webhooks.draining = true;
  try {
    expect(await post('/webhook/usage', { sessionId: 's1', model: 'm', key: 'k' })).toMatchObject({ status: 503 });
  } finally {
    edge.edge.webhooks.draining = false;
  }
});
