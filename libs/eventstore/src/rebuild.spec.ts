import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Bus } from '@cortex/bus';
import { COMMIT_HEADER, EVENTS_STREAM } from '@cortex/contracts';
import {
  counter,
  counterMigrations,
  counters,
  eventually,
  natsFixture,
  postgresFixture,
  type NatsFixture,
  type PostgresFixture,
} from '@cortex/testing';
import { sql } from 'kysely';
import { EventStore } from './event-store.js';
import { ProjectionRunner } from './projection-runner.js';
import { projectionStatus } from './projection-status.js';
import type { Projection } from './projection.js';
import { defineReactor } from './reactor.js';
import { ReactorRunner } from './reactor-runner.js';
import { rebuildProjection, type RebuildOptions } from './rebuild.js';
import type { Provisionable } from './provision-database.js';
import { tenantDb } from './tenant-db.js';

let reacted = 0;
const reactor = defineReactor({
  name: 'sample_mailer_v1',
  subject: 'cortex.evt.ticket.*.counter.*',
  version: { CounterIncremented: 2 },
  upcast: { CounterIncremented: { 1: () => ({ by: 1 }) } },
  on: { CounterIncremented: () => Promise.resolve(reacted++) },
});
const service: Provisionable = {
  name: 'ticket',
  tools: [],
  projections: [counters],
  reactors: [reactor],
  migrations: counterMigrations,
};

let nats: NatsFixture;
let database: PostgresFixture;
let bus: Bus;
let admin: Bus;
let store: EventStore;
let runner: ProjectionRunner;

let n = 0;
const add = (id: string, workspace = 'ws') =>
  store.execute(
    counter,
    workspace,
    id,
    { type: 'IncrementCounter', by: 1 },
    {
      commitId: `c${++n}`,
      at: '2026-01-01T00:00:00.000Z',
      actor: { kind: 'system', id: 'test' },
      correlation_id: 'x',
      causation_id: 'x',
    },
  );
const addMany = async (times: number) => {
  for (let i = 0; i < times; i += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, k) => add(`c${k % 10}`, k % 2 ? 'ws' : 'other')));
  }
};
const rows = async () => (await database.pool().query('select * from ticket.counters order by 1, 2')).rows;
const waitsForLock = async (reader: { query(text: string): Promise<{ rows: unknown[] }> }) =>
  (await reader.query(`select 1 from pg_locks where not granted and relation = 'ticket.counters'::regclass`)).rows
    .length > 0;
const rebuild = (more: Partial<RebuildOptions> = {}) =>
  rebuildProjection({ bus: admin, adminUrl: database.adminUrl, service, projection: counters, ...more });
const caughtUp = (ms = 10_000) =>
  eventually(async () => expect(await runner.lag()).toMatchObject([{ pending: 0 }]), ms);

beforeEach(async () => {
  reacted = 0;
  nats = await natsFixture({ services: [service] });
  database = await postgresFixture([service]);
  bus = await nats.busAs('ticket');
  admin = await nats.busAs('provision');
  store = new EventStore({ bus });
  const url = new URL(database.adminUrl);
  [url.username, url.password] = ['ticket_projector', database.passwordOf('ticket_projector')];
  const config = { connectionString: url.href };
  runner = new ProjectionRunner({ bus, schema: 'ticket', database: config, projections: [counters] });
  runner.start();
});
afterEach(async () => {
  await runner.stop();
  await nats[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

describe('P86 a rebuild', () => {
  it('gives the same rows as the live copy, and calls no reactor', async () => {
    const reactors = new ReactorRunner({ bus, reactors: [reactor] });
    reactors.start();
    await addMany(200);
    await caughtUp();
    await eventually(() => reacted === 200);
    const live = await rows();
    expect(live).toHaveLength(10);
    for (let time = 0; time < 2; time++) {
      const { applied, seq } = await rebuild();
      expect(applied).toBe(200);
      expect(await rows()).toEqual(live);
      const status = await projectionStatus({ bus: admin, adminUrl: database.adminUrl, services: [service] });
      expect(status).toEqual([
        { service: 'ticket', projection: counters.name, subject: counters.subject, seq, pending: 0, lost: false },
      ]);
    }
    expect(reacted).toBe(200);
    await reactors.stop();
  });

  it('mends what was changed by hand, and the live projection goes on in the new tables', async () => {
    await addMany(40);
    await caughtUp();
    const before = await rows();
    await database.pool().query('update ticket.counters set total = 1000; delete from ticket.counters where total < 0');
    await rebuild();
    expect(await rows()).toEqual(before);
    await addMany(20);
    await caughtUp();
    expect((await rows()).reduce((sum, row) => sum + row.commits, 0)).toBe(60);
  });

  it('while events arrive ends with every one of them counted once', async () => {
    const before = n;
    await addMany(1000);
    let stop = false;
    const writing = (async () => {
      // Steadily, not as fast as it goes: both share one thread with the rebuild here.
      while (!stop) {
        await addMany(20);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    for (let time = 0; time < 3; time++) await rebuild();
    stop = true;
    await writing;
    await caughtUp();
    const recorded = (await rows()).reduce((sum, row) => sum + row.commits, 0);
    expect(recorded).toBe(n - before);
    const fresh = await rows();
    await rebuild();
    expect(await rows()).toEqual(fresh);
  });

  it('T85 leaves row-level security, owner and grants as they were', async () => {
    await addMany(20);
    await caughtUp();
    const secured = async () => {
      const { rows: found } = await database.pool().query(
        `select c.relrowsecurity, c.relforcerowsecurity, c.relowner::regrole::text as owner, c.relacl::text as acl,
                (select json_agg(p order by policyname) from pg_policies p where p.schemaname = 'ticket' and p.tablename = 'counters') as policies,
                (select json_agg(i.indexname order by 1) from pg_indexes i where i.schemaname = 'ticket') as indexes
           from pg_class c where c.oid = 'ticket.counters'::regclass`,
      );
      return found;
    };
    const before = await secured();
    expect(before).toMatchObject([{ relrowsecurity: true, relforcerowsecurity: true, owner: 'ticket_owner' }]);
    await rebuild();
    expect(await secured()).toEqual(before);
    const seen = await sql<{ workspace_id: string }>`select distinct workspace_id from counters`.execute(
      tenantDb(database.pool('ticket'), 'ws'),
    );
    expect(seen.rows).toEqual([{ workspace_id: 'ws' }]);
  });

  it('lets readers go on, and does not give up before one that holds a table for a while', async () => {
    await addMany(20);
    await caughtUp();
    const reader = await database.pool('ticket').connect();
    await reader.query('begin');
    await reader.query('select * from counters');
    const done = rebuild();
    // It has waited for the table, and given way to readers again.
    await eventually(() => waitsForLock(reader));
    await eventually(async () => !(await waitsForLock(reader)));
    await reader.query('select * from counters');
    await reader.query('commit');
    reader.release();
    await done;
    expect(await rows()).toHaveLength(10);
  });

  it('skips garbage like the live copy, and counts it', async () => {
    await addMany(20);
    await bus.publishAcked('cortex.evt.ticket.ws.counter.c1', 'x', { headers: { [COMMIT_HEADER]: 'x' } });
    await caughtUp();
    expect(await rebuild()).toMatchObject({ applied: 21, skipped: 1 });
  });

  it('ends also where the store was damaged, and the server waits for itself with messages that it cannot read', async () => {
    await addMany(20);
    await add('lost');
    await add('last');
    await caughtUp();
    await runner.stop();
    expect(await nats.damage(EVENTS_STREAM, '"commit_id":"c' + String(n - 1), '"COMMIT_ID":"c' + String(n - 1))).toBe(
      1,
    );
    await eventually(() => admin.up, 10_000);
    expect(await rebuild()).toMatchObject({ applied: 21 });
    expect((await rows()).map(({ counter_id }) => counter_id)).not.toContain('lost');
  });

  it('that fails or is aborted leaves the live tables, no schema and no consumer behind', async () => {
    await addMany(20);
    await caughtUp();
    const before = await rows();
    const broken = { ...counters, on: { CounterIncremented: () => Promise.reject(new Error('broken')) } } as Projection;
    await expect(rebuild({ projection: broken })).rejects.toThrow('broken');
    await expect(rebuild({ signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow('stop');
    expect(await rows()).toEqual(before);
    const { rowCount } = await database.pool().query(`select from pg_namespace where nspname like 'ticket_rebuild%'`);
    expect(rowCount).toBe(0);
    const info = await admin.request('$JS.API.CONSUMER.NAMES.CORTEX_EVENTS', '', { timeoutMs: 2000 });
    expect(info.json<{ consumers: string[] }>().consumers.sort()).toEqual([counters.name, reactor.name].sort());
  });

  it('refuses to run twice at once', async () => {
    await addMany(20);
    const both = await Promise.allSettled([rebuild(), rebuild()]);
    const failed = both.filter((one) => one.status === 'rejected');
    expect(failed.map((one) => String(one.reason))).toEqual(failed.map(() => expect.stringContaining('already')));
    expect(failed.length).toBeLessThan(2);
  });
});
