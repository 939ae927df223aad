import { randomBytes } from 'node:crypto';
import type { Bus } from '@cortex/bus';
import { sha256Hex, type BusRequest } from '@cortex/contracts';
import {
  counter,
  counterGet,
  counterIncrement,
  counterMigrations,
  counters,
  eventually,
  startService,
  type RunningService,
} from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { runTool } from './runner.js';
import { BUS, CONFIG, defineService } from './service.js';
import { defineTool, result } from './tool.js';

const common = { title: 'T', description: 'D', tier: 'read', actions: [], workspace: 'none' } as const;
const seen: { signal?: AbortSignal } = {};

@Injectable()
class Adapter {
  readonly text: string;
  constructor(@Inject(CONFIG) config: { GREETING: string }, @Inject(BUS) bus: Bus) {
    this.text = `${config.GREETING} from ${bus.service}`;
  }
}

const echo = defineTool({
  ...common,
  name: 'echo',
  input: z.object({ text: z.string(), times: z.number().optional() }),
  output: z.object({ text: z.string() }),
  handle: ({ text }) => ({ text }),
});
const hang = defineTool({
  ...common,
  name: 'hang',
  input: z.object({}),
  output: z.object({}),
  handle: (_args, ctx) => {
    seen.signal = ctx.signal;
    return new Promise<Record<string, never>>((_, reject) =>
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
    );
  },
});
const deaf = defineTool({
  ...common,
  name: 'deaf',
  input: z.object({}),
  output: z.object({}),
  handle: () => new Promise<Record<string, never>>((resolve) => setTimeout(() => resolve({}), 1500)),
});
const broken = defineTool({
  ...common,
  name: 'broken',
  input: z.object({}),
  output: z.object({}),
  handle: () => {
    throw new Error('password=hunter2 at postgres://admin:hunter2@db/');
  },
});
const liar = defineTool({
  ...common,
  name: 'liar',
  input: z.object({}),
  output: z.object({ n: z.number() }),
  handle: () => ({ n: 'many' as unknown as number, secret: 1 }),
});
const rich = defineTool({
  ...common,
  name: 'rich',
  input: z.object({}),
  output: z.object({ code: z.number() }),
  handle: () =>
    result({ code: 3 }, { content: [{ type: 'text', text: 'ended with 3' }], isError: true, meta: { 'cortex/x': 1 } }),
});
const verbose = defineTool({
  ...common,
  name: 'verbose',
  input: z.object({}),
  output: z.object({}),
  handle: () => result({}, { meta: { 'cortex/x': 'x'.repeat(2_000_000) } }),
});
const injected = defineTool({
  ...common,
  name: 'injected',
  input: z.object({}),
  output: z.object({ text: z.string() }),
  handle: (_args, ctx) => ({ text: ctx.get(Adapter).text }),
});
const later = defineTool({
  ...common,
  name: 'later',
  input: z.object({}),
  output: z.object({ answer: z.string() }),
  handle: (_args, ctx) =>
    ctx.resume
      ? { answer: 'now' }
      : ctx.wait({ subject: 'cortex.evt.ticket.w1.counter.x', after: 3, until: ctx.now() }),
});
const inSession = defineTool({
  ...common,
  name: 'in_session',
  session: true,
  input: z.object({}),
  output: z.object({}),
  handle: () => ({}),
});
const asks = defineTool({
  ...common,
  name: 'asks',
  input: z.object({ what: z.string() }),
  output: z.object({ via: z.string() }),
  approval: ({ what }) => ({ title: `Do ${what}?`, detail: what }),
  handle: (_args, ctx) => ({ via: ctx.approval?.via ?? 'nobody' }),
});
const newThing = defineTool({
  ...common,
  name: 'new_thing',
  tier: 'write',
  workspace: 'required',
  input: z.object({}),
  output: z.object({ id: z.string(), commits: z.array(z.number()) }),
  async handle(_args, ctx) {
    const id = ctx.newId('c');
    const first = await ctx.execute(counter, id, { type: 'IncrementCounter', by: 1 });
    const second = await ctx.execute(counter, id, { type: 'IncrementCounter', by: 10 });
    return { id, commits: [first.seq, second.seq] };
  },
});

const kitService = defineService({
  name: 'remote-ops',
  config: z.object({ GREETING: z.string() }),
  providers: [Adapter],
  tools: [verbose, injected, echo, hang, deaf, broken, liar, rich, later, inSession, asks],
});
const counting = defineService({
  name: 'ticket',
  config: z.object({}),
  tools: [counterIncrement, counterGet, newThing],
  projections: [counters],
  migrations: counterMigrations,
});

let app: RunningService;
let counts: RunningService;
beforeAll(async () => {
  [app, counts] = await Promise.all([startService(kitService, { env: { GREETING: 'hello' } }), startService(counting)]);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await counts[Symbol.asyncDispose]();
});

const errorOf = async (tool: string, args: unknown, options = {}) => {
  const { head } = await app.send(tool, args, options);
  if (head.ok) throw new Error('was answered');
  return head.error;
};

describe('a tool call', () => {
  it('is answered by one line and the members of its result, the JSON written once', async () => {
    const { head, body } = await app.send('echo', { text: 'a "quoted" é\n' });
    expect(head).toEqual({ ok: true });
    expect(JSON.parse(`{${body}}`)).toEqual({
      content: [{ type: 'text', text: JSON.stringify({ text: 'a "quoted" é\n' }) }],
      structuredContent: { text: 'a "quoted" é\n' },
    });
  });

  it('refuses an unknown argument, naming the nearest known one', async () => {
    expect(await errorOf('echo', { text: 'x', time: 3 })).toMatchObject({
      kind: 'invalid_argument',
      reason: 'unknown_argument',
      message: 'time is no known argument; did you mean times?',
    });
  });

  it('carries content blocks, isError and meta of its own', async () => {
    const { head, body } = await app.send('rich', {});
    expect(head).toEqual({ ok: true, is_error: true, meta: { 'cortex/x': 1 } });
    expect(JSON.parse(`{${body}}`)).toEqual({
      content: [{ type: 'text', text: 'ended with 3' }],
      structuredContent: { code: 3 },
    });
  });

  it('carries 10 MB both ways by reference', async () => {
    const text = randomBytes(5 * 1024 * 1024).toString('hex');
    const { head, body } = await app.send('echo', { text }, { deadlineMs: 30_000 });
    expect(head).toMatchObject({ ok: true, blob: { sha256: sha256Hex(body) } });
    expect((JSON.parse(`{${body}}`) as { structuredContent: { text: string } }).structuredContent.text).toBe(text);
  });

  it('that breaks says internal and its call id, and nothing else', async () => {
    const error = await errorOf('broken', {}, { call_id: 'call-17' });
    expect(error).toEqual({
      kind: 'internal',
      message: 'something broke inside Cortex (call call-17); report the call id to the operator',
      retryable: false,
    });
    expect(app.log.some((line) => line.includes('call-17') && line.includes('"stack"'))).toBe(true);
  });

  it('whose result is not what its output says is our bug, not an answer', async () => {
    expect(await errorOf('liar', {})).toMatchObject({ kind: 'internal', message: expect.stringContaining('liar') });
  });

  it('whose meta is too large for a message is answered all the same', async () => {
    expect(await errorOf('verbose', {}, { call_id: 'big' })).toMatchObject({
      kind: 'internal',
      message: 'the answer of call big cannot be sent; report the call id',
    });
  });

  it('reaches the adapters of its service, and these its configuration and bus', async () => {
    expect(await app.call(injected, {})).toEqual({ text: 'hello from remote-ops' });
    expect(app.get(Adapter).text).toBe('hello from remote-ops');
  });

  it('that waits says for what, and is answered when it is asked again', async () => {
    const { head, body } = await app.send('later', {});
    expect(head).toMatchObject({ ok: true, wait: { subject: 'cortex.evt.ticket.w1.counter.x', after: 3 } });
    expect(body).toBe('');
    expect(await app.call(later, {}, { resume: true })).toEqual({ answer: 'now' });
  });

  it('is refused without session, approval or workspace where it needs one', async () => {
    expect(await errorOf('in_session', {})).toMatchObject({ kind: 'failed_precondition', reason: 'no_session' });
    expect(await errorOf('asks', { what: 'x' })).toMatchObject({ reason: 'approval_required' });
    expect(await app.call(asks, { what: 'x' }, { approval: { via: 'human' } })).toEqual({ via: 'human' });
    await expect(counts.call(counterGet, { counter_id: 'c' }, { workspace: null })).rejects.toMatchObject({
      kind: 'invalid_argument',
      reason: 'workspace_required',
      message: 'workspace_id is missing; name a workspace',
    });
  });

  it('tells what a person is to approve', async () => {
    const edge = await app.nats.busAs('mcp-edge');
    const request = {
      v: 1,
      call_id: 'x',
      workspace_id: null,
      principal: { type: 'user', id: 'p', roles: [] },
      scope: {},
      args: { what: 'it' },
      deadline_ms: 5000,
      tool: 'asks',
    };
    const reply = await edge.request('cortex.query.remote-ops.approval_payload', JSON.stringify(request), {
      timeoutMs: 5000,
    });
    expect(reply.json()).toEqual({ ok: true, data: { title: 'Do it?', detail: 'it' } });
  });

  it('of a tool that this release does not have is told so', async () => {
    expect(await errorOf('nonesuch', {})).toMatchObject({ kind: 'not_found', field: 'tool' });
  });

  it('that is no request of version 1 is refused', async () => {
    const edge = await app.nats.busAs('mcp-edge');
    for (const body of ['{', '{}', '{"v":1}', '[]', 'null', '{"v":1,"call_id":"c","args":[]}']) {
      const reply = await edge.request('cortex.tool.remote-ops.echo', body, { timeoutMs: 2000 });
      expect(JSON.parse(reply.string().split('\n')[0]!)).toMatchObject({
        ok: false,
        error: { kind: 'invalid_argument' },
      });
    }
  });
});

describe('the end of a call', () => {
  it('comes at its deadline: its caller is told, its handler is aborted', async () => {
    const error = await errorOf('hang', {}, { deadlineMs: 50 });
    expect(error).toMatchObject({ kind: 'deadline_exceeded', reason: 'timeout', retryable: true });
    expect(seen.signal?.reason).toMatchObject({ kind: 'deadline_exceeded' });
  });

  it('comes with a cancel', async () => {
    const reply = errorOf('hang', {}, { call_id: 'gone' });
    await eventually(() => app.host.transport.runner.inFlight.size === 1);
    app.cancel('other');
    app.cancel('gone');
    expect(await reply).toMatchObject({ kind: 'cancelled' });
    expect(seen.signal?.aborted).toBe(true);
    await eventually(() => app.host.transport.runner.inFlight.size === 0);
  });

  it('before its beginning runs nothing', async () => {
    const request: BusRequest = {
      v: 1,
      call_id: 'c',
      workspace_id: null,
      principal: { type: 'user', id: 'per_1', roles: [] },
      scope: {},
      args: {},
      deadline_ms: 5_000,
    };
    delete seen.signal;
    const { head } = await runTool(app.host, hang, request, { signal: AbortSignal.abort() });
    expect(head).toMatchObject({ ok: false, error: { kind: 'cancelled' } });
    expect(seen.signal).toBeUndefined();
  });

  it('comes in time also when the handler hears nothing', async () => {
    expect(await errorOf('deaf', {}, { deadlineMs: 100 })).toMatchObject({ kind: 'deadline_exceeded' });
    await eventually(() => app.host.transport.runner.inFlight.size === 0);
  });

  it('is a refusal when too many are under way', async () => {
    const options = { deadlineMs: 30_000, call_id: 'crowd' };
    const crowd = Array.from({ length: 1024 }, () => app.send('hang', {}, options));
    await eventually(() => app.host.transport.runner.inFlight.size === 1024);
    const other = await app.nats.busAs('mcp-edge');
    const request = {
      v: 1,
      call_id: 'x',
      workspace_id: null,
      principal: { type: 'user', id: 'p', roles: [] },
      scope: {},
      args: {},
      deadline_ms: 5000,
    };
    const reply = await other.request('cortex.tool.remote-ops.hang', JSON.stringify(request), { timeoutMs: 5000 });
    expect(JSON.parse(reply.string())).toMatchObject({ ok: false, error: { kind: 'resource_exhausted' } });
    app.cancel('crowd');
    await Promise.all(crowd);
  });
});

describe('a keyed call', () => {
  it('that comes again gives the first result and has no second effect', async () => {
    const first = await counts.call(newThing, {}, { key: 'k1' });
    const again = await counts.call(newThing, {}, { key: 'k1' });
    expect(again).toEqual(first);
    expect(await counts.call(counterGet, { counter_id: first.id })).toEqual({ total: 11, commits: 2 });
    expect(await counts.call(newThing, {}, { key: 'k1', caller: 'another' })).not.toEqual(first);
    expect(await counts.call(newThing, {})).not.toEqual(first);
  });

  it('that comes twice at once has one effect', async () => {
    const both = await Promise.all([
      counts.call(newThing, {}, { key: 'k2' }),
      counts.call(newThing, {}, { key: 'k2' }),
    ]);
    expect(both[0]).toEqual(both[1]);
    expect(await counts.call(counterGet, { counter_id: both[0].id })).toEqual({ total: 11, commits: 2 });
  });
});

describe('a commit', () => {
  it('carries who, when and why', async () => {
    const { head } = await counts.send(
      'counter_increment',
      { counter_id: 'env' },
      {
        call_id: 'call-9',
        principal: { type: 'agent', id: 'a1' },
        scope: { session_id: 's1', project: 'p1' },
      },
    );
    const stored = await counts.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.ticket.w1.counter.env');
    expect(head.last_seq).toBe(stored?.seq);
    expect(JSON.parse(Buffer.from(stored!.data).toString())).toMatchObject({
      actor: { kind: 'agent', id: 'a1' },
      workspace: 'w1',
      session_id: 's1',
      project: 'p1',
      correlation_id: 'call-9',
      causation_id: 'call-9',
    });
  });

  it('T84 of an id that is no token is refused before a subject is built', async () => {
    for (const counter_id of ['a.b', '*', '>', 'a b', 'a\r\nPUB x 0', '']) {
      await expect(counts.call(counterIncrement, { counter_id })).rejects.toMatchObject({ kind: 'invalid_argument' });
    }
  });
});
