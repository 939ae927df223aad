import { AckPolicy, jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Bus } from '@cortex/bus';
import { ACCESS, BUCKETS, busPermissions, COMMIT_HEADER, SERVICES, type BusUser } from '@cortex/contracts';
import { counters, eventually, natsFixture, type NatsFixture } from '@cortex/testing';
import { readCommit, readEvents } from './commit.js';
import { defineProjection, type Projection } from './projection.js';
import { ACK_WAIT_MS, BATCH, consumersOf, provisionBus } from './provision-bus.js';
import type { Provisionable } from './provision-database.js';
import { Pull } from './pull.js';
import { defineReactor } from './reactor.js';

const reactor = defineReactor({ name: 'sample_reactor_v1', subject: 'cortex.evt.ticket.*.counter.*', on: {} });
const calls = defineProjection({ name: 'sample_calls_v1', subject: 'cortex.call.>', tables: [], on: {} });
const ticket: Provisionable = {
  name: 'ticket',
  tools: [{ name: 'ticket_create' }],
  projections: [counters],
  reactors: [reactor],
};
const audit: Provisionable = { name: 'audit', tools: [{ name: 'audit_list' }], projections: [calls] };

describe('the bus', () => {
  let nats: NatsFixture;
  const buses = new Map<BusUser, Bus>();

  beforeAll(async () => {
    nats = await natsFixture({ services: [ticket, audit] });
    for (const service of SERVICES) buses.set(service, await nats.busAs(service));
    buses.set('provision', await nats.busAs('provision'));
  });
  afterAll(async () => {
    await nats[Symbol.asyncDispose]();
  });

  /** Whether the server refuses these publishes of a user; all in one go, told by one flush. */
  const refusedPublishes = async (user: BusUser, subjects: readonly string[]): Promise<Set<string>> => {
    const bus = buses.get(user)!;
    const refused = new Set<string>();
    const off = bus.onError((error) => refused.add((error as Error & { subject: string }).subject));
    for (const subject of subjects) bus.publish(subject, '');
    await new Promise((resolve) => setImmediate(resolve));
    await bus.nc.flush();
    await new Promise((resolve) => setImmediate(resolve));
    off();
    return refused;
  };
  const refusedSubscription = async (user: BusUser, subject: string): Promise<boolean> => {
    const bus = buses.get(user)!;
    const subscription = bus.nc.subscribe(subject, { callback: () => {} });
    await bus.nc.flush();
    const refused = subscription.isClosed();
    if (!refused) subscription.unsubscribe();
    return refused;
  };

  it('is provisioned again without a change', async () => {
    const admin = buses.get('provision')!;
    const before = await admin.kv(BUCKETS.tools.name).get('_owners');
    await provisionBus({ nc: admin.nc, services: [ticket, audit] });
    const after = await admin.kv(BUCKETS.tools.name).get('_owners');
    expect(after?.json()).toEqual({ audit_list: 'audit', ticket_create: 'ticket' });
    expect(after?.revision).toBe(before?.revision);
  });

  it('P79 echoes the wait for an acknowledgement in nanoseconds, and the order-keeping limits', async () => {
    const config = async (bus: BusUser, stream: string, name: string) => {
      const reply = await buses.get(bus)!.request(`$JS.API.CONSUMER.INFO.${stream}.${name}`, '', { timeoutMs: 2000 });
      return reply.json<{ config: Record<string, unknown> }>().config;
    };
    expect(await config('ticket', 'CORTEX_EVENTS', counters.name)).toMatchObject({
      ack_wait: ACK_WAIT_MS * 1_000_000,
      max_ack_pending: BATCH,
      ack_policy: 'all',
      deliver_policy: 'all',
    });
    expect(await config('ticket', 'CORTEX_EVENTS', reactor.name)).toMatchObject({
      ack_wait: 10e9,
      ack_policy: 'explicit',
      deliver_policy: 'new',
    });
    expect(await config('audit', 'CORTEX_CALLS', calls.name)).toMatchObject({ filter_subject: 'cortex.call.>' });
  });

  it('lets call records age as it is told, from the next time on also where it was told otherwise', async () => {
    const { nc } = buses.get('provision')!;
    const days = async () => {
      const reply = await buses.get('provision')!.request(`$JS.API.STREAM.INFO.CORTEX_CALLS`, '', { timeoutMs: 2000 });
      return reply.json<{ config: { max_age: number } }>().config.max_age / 86_400e9;
    };
    expect(await days()).toBe(365);
    await provisionBus({ nc, services: [ticket, audit], retention: { callsDays: 30 } });
    expect(await days()).toBe(30);
    await provisionBus({ nc, services: [ticket, audit] });
    expect(await days()).toBe(365);
  });

  it('refuses a consumer whose subject changed under its old name, and names that two services use', async () => {
    const { nc } = buses.get('provision')!;
    const moved = { ...counters, subject: 'cortex.evt.ticket.*.other.*' } as Projection;
    await expect(provisionBus({ nc, services: [{ ...ticket, projections: [moved] }] })).rejects.toThrow(/_v2/);
    const twice = { ...audit, projections: [counters] };
    await expect(provisionBus({ nc, services: [ticket, twice] })).rejects.toThrow(
      /sample_counters_v1 is in ticket and audit/,
    );
    const sameTool = { ...audit, tools: ticket.tools };
    await expect(provisionBus({ nc, services: [ticket, sameTool] })).rejects.toThrow(
      /ticket_create is in the registries/,
    );
  });

  it('T80 lets each service send to exactly the subjects that the table gives it', async () => {
    const subjectOf = (pattern: string) => pattern.replaceAll('*', 'x');
    for (const service of SERVICES) {
      const subjects = ACCESS.map(({ subject }) => subjectOf(subject));
      const refused = await refusedPublishes(service, subjects);
      const allowed = ACCESS.filter((row) => row.senders.includes(service)).map((row) => subjectOf(row.subject));
      expect({ service, sends: subjects.filter((subject) => !refused.has(subject)).sort() }).toEqual({
        service,
        sends: [...new Set(allowed)].sort(),
      });
    }
  });

  it('T80 lets nobody write the events, records, streams and blobs of another', async () => {
    for (const service of SERVICES) {
      const foreign = SERVICES.filter((other) => other !== service).flatMap((other) => [
        `cortex.evt.${other}._.thing.x`,
        `cortex.blob.${other}.o.0`,
        `cortex.tool.${other}.never`,
        `cortex.query.${other}.never`,
        `cortex.cmd.${other}.never`,
        `$KV.cortex_tools.${other}`,
        `$KV.cortex_nodes.${other}.i1`,
      ]);
      if (service !== 'mcp-edge') {
        foreign.push(
          'cortex.call.ticket.x',
          'cortex.call.mcp-edge._request',
          'cortex.sse.s.1',
          '$KV.cortex_idempotency.x',
        );
      }
      foreign.push('$KV.cortex_tools._owners', 'cortex.other', '_INBOX.x');
      const may = foreign.filter((subject) => service === 'mcp-edge' && subject.startsWith('cortex.tool.'));
      const refused = await refusedPublishes(service, foreign);
      expect({ service, written: foreign.filter((subject) => !refused.has(subject)) }).toEqual({
        service,
        written: may,
      });
      expect(await refusedPublishes(service, [`cortex.evt.${service}._.thing.x`])).toEqual(new Set());
    }
  });

  it("T80 refuses subscriptions to others' inboxes, requests and logs", async () => {
    for (const service of SERVICES) {
      const foreign = [
        '>',
        '_INBOX.>',
        '_INBOX_*.>',
        ...SERVICES.filter((other) => other !== service).flatMap((other) => [
          `_INBOX_${other}.>`,
          `cortex.tool.${other}.*`,
          `cortex.query.${other}.*`,
          `cortex.cmd.${other}.*`,
          `cortex.live.${other}.*`,
          ...(service === 'mcp-edge' ? [] : [`cortex.evt.${other}.>`]),
        ]),
        ...(service === 'mcp-edge' ? [] : ['cortex.sse.>']),
        'cortex.call.>',
        '$JS.>',
      ];
      for (const subject of foreign)
        expect([service, subject, await refusedSubscription(service, subject)]).toEqual([service, subject, true]);
      expect(await refusedSubscription(service, `_INBOX_${service}.x.*`)).toBe(false);
      expect(await refusedSubscription(service, `cortex.tool.${service}.*`)).toBe(false);
    }
  });

  it('T80 lets each service pull from and acknowledge its own consumers, each by name, and no other', async () => {
    const consumers = [ticket, audit].flatMap((service) =>
      consumersOf(service).map((ref) => ({ ...ref, owner: service.name })),
    );
    for (const service of SERVICES) {
      for (const { owner, stream, name } of consumers) {
        const subjects = [`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, `$JS.ACK.${stream}.${name}.1.1.1.1.1`];
        const refused = await refusedPublishes(service, subjects);
        expect([service, name, refused.size]).toEqual([service, name, service === owner ? 0 : 2]);
      }
    }
    for (const service of [ticket, audit]) {
      const { publish, subscribe } = busPermissions(service.name, consumersOf(service));
      for (const token of [...publish, ...subscribe].flatMap((subject) => subject.split('.'))) {
        if (/[*>]/.test(token)) expect(token).toHaveLength(1);
      }
    }
  });

  it('T79 lets nobody but the edge read results that are kept for a key, and protocol sessions', async () => {
    const reads = ['cortex_idempotency', 'cortex_mcp_sessions', 'cortex_ratelimit'].flatMap((bucket) => [
      `$JS.API.DIRECT.GET.KV_${bucket}`,
      `$JS.API.DIRECT.GET.KV_${bucket}.x`,
      `$JS.API.STREAM.MSG.GET.KV_${bucket}`,
    ]);
    for (const service of SERVICES) {
      const refused = await refusedPublishes(service, reads);
      expect([service, refused.size]).toEqual([service, service === 'mcp-edge' ? 0 : reads.length]);
    }
  });

  it('T82 lets no service make, change, purge or delete a stream, a consumer or a bucket', async () => {
    const api = ['CORTEX_EVENTS', 'CORTEX_CALLS', 'CORTEX_SSE', 'cortex_blobs', 'KV_cortex_tools', 'NEW'].flatMap(
      (stream) => [
        ...['CREATE', 'UPDATE', 'DELETE', 'PURGE', 'MSG.DELETE', 'RESTORE', 'SNAPSHOT'].map(
          (verb) => `$JS.API.STREAM.${verb}.${stream}`,
        ),
        `$JS.API.CONSUMER.CREATE.${stream}`,
        `$JS.API.CONSUMER.CREATE.${stream}.c`,
        `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.c`,
        `$JS.API.CONSUMER.DELETE.${stream}.${counters.name}`,
      ],
    );
    for (const service of SERVICES) {
      const refused = await refusedPublishes(service, api);
      expect({ service, may: api.filter((subject) => !refused.has(subject)) }).toEqual({ service, may: [] });
    }
  });

  it('T82 lets no service clear a bucket by a message that rolls up what was before it', async () => {
    const bus = buses.get('ticket')!;
    const owners = await bus.kv('cortex_tools').get('_owners');
    for (const what of ['all', 'sub']) {
      const headers = { 'Nats-Rollup': what };
      await expect(bus.publishAcked('$KV.cortex_tools.ticket', '{}', { headers })).rejects.toBeDefined();
    }
    expect(await bus.kv('cortex_tools').get('_owners')).toMatchObject({ revision: owners!.revision });
  });

  it('T80 a refused request fails at once with the refusal instead of at its deadline', async () => {
    const bus = buses.get('ticket')!;
    // Later than the test's own.
    await expect(bus.request('cortex.tool.audit.x', '', { timeoutMs: 300_000 })).rejects.toMatchObject({
      kind: 'permission_denied',
      reason: 'forbidden',
    });
    await expect(bus.publishAcked('cortex.evt.audit._.thing.x', '', { msgId: 'x' })).rejects.toMatchObject({
      kind: 'permission_denied',
    });
  });

  it('T81 an acknowledgement put on a foreign subject by a reply is no commit and no answer', async () => {
    const bus = buses.get('ticket')!;
    const target = 'cortex.evt.audit._.thing.stolen';
    bus.publish('cortex.evt.ticket._.counter.x', '{}', { reply: target });
    const stored = await eventually(async () => (await bus.direct.last('CORTEX_EVENTS', target)) ?? false);
    expect(readCommit(stored)).toHaveProperty('garbage');
  });

  it('T81 T83 what a read of the log puts on a foreign subject is no commit, no record and no value', async () => {
    const bus = buses.get('ticket')!;
    const own = 'cortex.evt.ticket.w1.counter.forged';
    /** Permissions do not bind the subject that a read is answered on. */
    const put = async (body: object, stream: string, target: string) => {
      const data = JSON.stringify(body);
      const { seq } = await bus.publishAcked(own, data, { headers: { [COMMIT_HEADER]: 'f' } });
      const { direct } = buses.get('provision')!;
      const before = (await direct.lastFromLeader(stream, target))?.seq ?? 0;
      bus.publish(`$JS.API.DIRECT.GET.CORTEX_EVENTS`, JSON.stringify({ seq }), { reply: target });
      return eventually(async () => {
        const stored = await direct.lastFromLeader(stream, target);
        return stored !== null && stored.seq > before && stored;
      });
    };
    const commit = {
      commit_id: 'f',
      at: 'x',
      actor: { kind: 'system', id: 'x' },
      workspace: 'w1',
      correlation_id: 'x',
      causation_id: 'x',
      events: [{ type: 'CounterClosed', version: 1, data: {} }],
    };
    const subject = 'cortex.evt.audit.w1.counter.victim';
    const forged = await put(commit, 'CORTEX_EVENTS', subject);
    expect(readCommit(forged)).toHaveProperty('garbage');
    const direct = await bus.direct.last('CORTEX_EVENTS', subject);
    expect(direct).toMatchObject({ subject, seq: forged.seq, copied: true });

    const record = { type: 'ToolCallFinished', at: 'x', call_id: 'x' };
    const call = await put(record, 'CORTEX_CALLS', 'cortex.call.audit.forged');
    expect(readEvents(call)).toHaveProperty('garbage');
    const admin = buses.get('provision')!;
    const { consumers } = await jetstreamManager(admin.nc);
    await consumers.add('CORTEX_CALLS', { durable_name: 'reader', ack_policy: AckPolicy.None });
    const pull = new Pull({ bus: admin, stream: 'CORTEX_CALLS', consumer: 'reader', batch: 10 });
    expect((await pull.next(5_000)).map((message) => readEvents(message))).toEqual([readEvents(call)]);
    pull.close();

    await put({ audit_list: 'audit', ticket_create: 'ticket' }, 'KV_cortex_tools', '$KV.cortex_tools._owners');
    expect(await bus.kv('cortex_tools').get('_owners')).toBeNull();
    // Provisioning makes it good again.
    await provisionBus({ nc: admin.nc, services: [ticket, audit] });
    expect((await bus.kv('cortex_tools').get('_owners'))?.json()).toEqual({
      audit_list: 'audit',
      ticket_create: 'ticket',
    });
  });
});
