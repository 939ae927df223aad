import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Bus } from '@cortex/bus';
import { COMMIT_HEADER } from '@cortex/contracts';
import { initPostgres, startPostgres } from '@cortex/embedded';
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
import { jetstreamManager } from '@nats-io/jetstream';
import pg from 'pg';
import { EventStore, type CommitContext } from './event-store.js';
import { ProjectionRunner } from './projection-runner.js';
import { defineProjection, type Projection } from './projection.js';
import { provisionDatabase, type Provisionable } from './provision-database.js';
import { consumerState } from './pull.js';
import { projectionStatus } from './projection-status.js';
import { rebuildProjection } from './rebuild.js';
import { waitFor } from './read-your-writes.js';

const service: Provisionable = { name: 'ticket', tools: [], projections: [counters], migrations: counterMigrations };
const STREAM = 'CORTEX_EVENTS';

let nats: NatsFixture;
let database: PostgresFixture;
let bus: Bus;
let store: EventStore;
const runners: ProjectionRunner[] = [];
const told: string[] = [];

let n = 0;
const ctx = (): CommitContext => ({
  commitId: `c${++n}`,
  at: '2026-01-01T00:00:00.000Z',
  actor: { kind: 'system', id: 'test' },
  correlation_id: 'x',
  causation_id: 'x',
});
const add = async (id: string, times = 1): Promise<number> => {
  let seq = 0;
  for (let i = 0; i < times; i++) {
    ({ seq } = await store.execute(counter, 'ws', id, { type: 'IncrementCounter', by: 1 }, ctx()));
  }
  return seq;
};
const projectorOf = (fixture: PostgresFixture): pg.ClientConfig => {
  const url = new URL(fixture.adminUrl);
  [url.username, url.password] = ['ticket_projector', fixture.passwordOf('ticket_projector')];
  return { connectionString: url.href };
};
const run = (projection: Projection = counters, config = projectorOf(database), on = bus): ProjectionRunner => {
  const runner = new ProjectionRunner({
    bus: on,
    schema: 'ticket',
    database: config,
    projections: [projection],
    log: (_level, message, fields) => told.push(`${message} ${JSON.stringify(fields)}`),
  });
  runners.push(runner);
  runner.start();
  return runner;
};
const row = async (id: string, fixture: { pool(): pg.Pool } = database) => {
  const { rows } = await fixture.pool().query('select total, commits from ticket.counters where counter_id = $1', [id]);
  return rows[0] as { total: number; commits: number } | undefined;
};

beforeEach(async () => {
  told.length = 0;
  nats = await natsFixture({ services: [service], ackWaitMs: 1_500 });
  database = await postgresFixture([service]);
  bus = await nats.busAs('ticket');
  store = new EventStore({ bus });
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  await nats[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

describe('a projection', () => {
  it('applies what was recorded before it began and what comes, and acknowledges it', async () => {
    await add('a', 3);
    run();
    await eventually(async () => expect(await row('a')).toEqual({ total: 3, commits: 3 }));
    await add('a', 2);
    await eventually(async () => expect(await row('a')).toEqual({ total: 5, commits: 5 }));
    await eventually(async () => {
      expect(await consumerState(bus, STREAM, counters.name)).toMatchObject({ num_pending: 0, num_ack_pending: 0 });
    });
  });

  it('is applied by one of two instances, and by the other as soon as that one stops', async () => {
    const first = run();
    await eventually(async () => expect(await first.lag()).toMatchObject([{ active: true }]));
    const second = run();
    await add('a', 5);
    await eventually(async () => expect(await row('a')).toMatchObject({ total: 5 }));
    expect(await second.lag()).toMatchObject([{ active: false }]);
    await first.stop();
    await add('a', 5);
    await eventually(async () => expect(await row('a')).toMatchObject({ total: 10 }));
    expect(await second.lag()).toMatchObject([{ projection: counters.name, active: true, skipped: 0 }]);
  });

  it('P87 killed between its transaction and the acknowledgement counts a commit once', async () => {
    // As if the process died right before it acknowledges.
    const publish: Bus['publish'] = (subject, data, options) => {
      if (data !== '+ACK') bus.publish(subject, data, options);
    };
    const deaf = new Proxy(bus, {
      get: (target, key) => {
        if (key === 'publish') return publish;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const dying = run(counters, projectorOf(database), deaf);
    const seq = await add('a', 3);
    await eventually(async () => expect(await row('a')).toEqual({ total: 3, commits: 3 }));
    await dying.stop();
    const heir = run();
    // All three come again, and are acknowledged this time.
    await eventually(async () => {
      expect(await consumerState(bus, STREAM, counters.name)).toMatchObject({ num_ack_pending: 0 });
    }, 20_000);
    expect(await row('a')).toEqual({ total: 3, commits: 3 });
    await add('a', 1);
    await eventually(async () => expect(await row('a')).toEqual({ total: 4, commits: 4 }));
    expect((await heir.lag())[0]?.seq).toBeGreaterThan(seq);
  });

  it('P87 killed within its transaction has written nothing, and the commit comes again', async () => {
    let broken = true;
    const dying = defineProjection({
      ...counters,
      on: {
        ...counters.on,
        CounterIncremented: async (event, tx) => {
          await counters.on.CounterIncremented?.(event, tx);
          if (broken) throw new Error('killed');
        },
      },
    }) as Projection;
    const runner = run(dying);
    await add('a', 2);
    await eventually(async () => expect(await runner.lag()).toMatchObject([{ error: 'killed' }]));
    expect(await row('a')).toBeUndefined();
    broken = false;
    await eventually(async () => expect(await row('a')).toEqual({ total: 2, commits: 2 }));
    expect((await runner.lag())[0]).not.toHaveProperty('error');
  });

  it('reads what a killed instance had been given and did not apply from the log, without waiting for it to come again', async () => {
    const jsm = await jetstreamManager((await nats.busAs('provision')).nc);
    await jsm.consumers.update(STREAM, counters.name, { ack_wait: 600e9 });
    const other = await nats.busAs('ticket');
    await add('a', 5);
    await bus.publishAcked('cortex.evt.ticket.ws.other.a', '{}');
    // An instance that pulled and was killed: the five are given out, and nobody acknowledges them.
    const inbox = `_INBOX_ticket.killed`;
    let got = 0;
    const held = other.subscribe(inbox, () => got++);
    other.publish(`$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${counters.name}`, '{"batch":9}', { reply: inbox });
    await eventually(() => got === 5);
    // The consumer says that it has given out the sixth as well, which it passed over.
    await eventually(async () => {
      const { delivered } = await consumerState(bus, STREAM, counters.name);
      expect(delivered).toMatchObject({ consumer_seq: 5, stream_seq: 6 });
    });
    held.unsubscribe();
    await other.close();
    const acknowledged = () =>
      eventually(async () =>
        expect(await consumerState(bus, STREAM, counters.name)).toMatchObject({ num_pending: 0, num_ack_pending: 0 }),
      );
    const heir = run();
    await acknowledged();
    // Whoever is next must not take what was acknowledged for more than the view has.
    await heir.stop();
    run();
    await add('a', 5);
    // Whoever applied the later five first would skip the earlier ones for ever.
    await eventually(async () => expect(await row('a')).toEqual({ total: 10, commits: 10 }), 20_000);
    await acknowledged();
  });

  it('notices when somebody else is given a message, and loses none', async () => {
    run();
    await add('a', 1);
    await eventually(async () => expect(await row('a')).toMatchObject({ total: 1 }));
    const thief = await nats.busAs('ticket');
    const inbox = `_INBOX_ticket.thief`;
    let got = 0;
    thief.subscribe(inbox, () => got++);
    // Many small pulls, so that some are served before the projection's own.
    for (let i = 0; i < 20; i++) {
      thief.publish(`$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${counters.name}`, '{"batch":1}', { reply: inbox });
    }
    await add('a', 30);
    await eventually(() => got > 0);
    await eventually(async () => expect(await row('a')).toEqual({ total: 31, commits: 31 }), 30_000);
  });

  it('T81 skips and counts what is no commit of its subject, and goes on', async () => {
    const runner = run();
    const put = (body: string, headers: Record<string, string>) =>
      bus.publishAcked('cortex.evt.ticket.ws.counter.a', body, { headers });
    await add('a');
    await put('garbage', {});
    await put('{"commit_id":"x"}', { [COMMIT_HEADER]: 'x' });
    store = new EventStore({ bus });
    await add('a');
    await eventually(async () => expect(await row('a')).toEqual({ total: 2, commits: 2 }));
    expect(await runner.lag()).toMatchObject([{ skipped: 2 }]);
    expect(told.filter((line) => line.startsWith('skipped a message'))).toHaveLength(2);
  });

  it('leaves out an event that only a newer release knows, and counts it', async () => {
    const runner = run();
    const body = {
      commit_id: 'x',
      at: 'x',
      actor: { kind: 'system', id: 'x' },
      workspace: 'ws',
      correlation_id: 'x',
      causation_id: 'x',
      events: [{ type: 'CounterIncremented', version: 9, data: {} }],
    };
    await add('a');
    await bus.publishAcked('cortex.evt.ticket.ws.counter.a', JSON.stringify(body), {
      headers: { [COMMIT_HEADER]: 'x' },
    });
    await add('b');
    await eventually(async () => expect(await row('b')).toMatchObject({ total: 1 }));
    expect(await row('a')).toEqual({ total: 1, commits: 1 });
    expect(await runner.lag()).toMatchObject([{ skipped: 1 }]);
  });

  it('P83 catches up after its nats-server was killed and came back', async () => {
    run();
    await add('a', 3);
    await eventually(async () => expect(await row('a')).toMatchObject({ total: 3 }));
    await nats.kill();
    await nats.restart();
    await eventually(() => bus.up);
    store = new EventStore({ bus });
    await eventually(() => add('a', 1));
    await eventually(async () => expect((await row('a'))?.total).toBeGreaterThanOrEqual(4), 20_000);
  });
});

describe('a database that lost what it had', () => {
  it('is not gone on with: its view stands still and says why, until it is rebuilt', async () => {
    const admin = new pg.Client({ connectionString: database.adminUrl });
    await admin.connect();
    try {
      run();
      await add('a', 5);
      await eventually(async () => expect(await row('a')).toMatchObject({ total: 5 }));
      await eventually(async () =>
        expect(await consumerState(bus, STREAM, counters.name)).toMatchObject({ num_ack_pending: 0 }),
      );
      await Promise.all(runners.splice(0).map((runner) => runner.stop()));
      await admin.query('truncate ticket.counters, ticket.projection_checkpoint');
      const runner = run();
      await add('a');
      await eventually(async () => expect((await runner.lag())[0]?.error).toContain('lacks what was in it'));
      expect(await row('a')).toBeUndefined();
      const provisioner = await nats.busAs('provision');
      const { adminUrl } = database;
      const states = () => projectionStatus({ bus: provisioner, adminUrl, services: [service] });
      expect(await states()).toMatchObject([{ lost: true, pending: 1 }]);
      await rebuildProjection({ bus: provisioner, adminUrl, service, projection: counters });
      await add('a');
      await eventually(async () => expect(await row('a')).toEqual({ total: 7, commits: 7 }));
      expect(await states()).toMatchObject([{ lost: false }]);
      expect((await runner.lag())[0]?.error).toBeUndefined();
    } finally {
      await admin.end();
    }
  });

  it('is told from a log that lost its end, and then the view stands still as well, until it is rebuilt', async () => {
    await add('a', 5);
    run();
    await eventually(async () => expect(await row('a')).toMatchObject({ total: 5 }));
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
    const admin = new pg.Client({ connectionString: database.adminUrl });
    await admin.connect();
    try {
      // As if the log had held seven more.
      await admin.query('update ticket.counters set total = 12');
      await admin.query('update ticket.projection_checkpoint set seq = seq + 7');
    } finally {
      await admin.end();
    }
    const runner = run();
    await add('a');
    await eventually(async () => expect((await runner.lag())[0]?.error).toContain('and the log ends at 6'));
    const provisioner = await nats.busAs('provision');
    const { adminUrl } = database;
    const states = () => projectionStatus({ bus: provisioner, adminUrl, services: [service] });
    expect(await states()).toMatchObject([{ lost: true }]);
    await rebuildProjection({ bus: provisioner, adminUrl, service, projection: counters });
    await add('a');
    await eventually(async () => expect(await row('a')).toMatchObject({ total: 7 }));
    expect(await states()).toMatchObject([{ lost: false, seq: 7 }]);
  });

  it('is not meant by a stream whose oldest messages were dropped', async () => {
    await add('a', 5);
    const jsm = await jetstreamManager((await nats.busAs('provision')).nc);
    await jsm.streams.purge(STREAM);
    run();
    await add('b', 2);
    await eventually(async () => expect(await row('b')).toMatchObject({ total: 2 }));
  });
});

describe('a database that goes away', () => {
  it('is waited for, and the view catches up without counting twice', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'cortex-away-'));
    const data = join(dir, 'data');
    await initPostgres(data, 'test');
    let server = await startPostgres({ dir: data });
    const { port } = server;
    const adminUrl = `postgres://postgres:test@127.0.0.1:${port}/postgres`;
    const passwords = { ticket: 'a', ticket_projector: 'b' };
    await provisionDatabase({ adminUrl, services: [service], passwords });
    const reader = new pg.Pool({ connectionString: adminUrl, max: 1 });
    reader.on('error', () => {});
    const own = { pool: () => reader };
    try {
      const runner = run(counters, { connectionString: `postgres://ticket_projector:b@127.0.0.1:${port}/postgres` });
      await add('a', 3);
      await eventually(async () => expect(await row('a', own)).toMatchObject({ total: 3 }));
      await server.kill();
      await add('a', 700); // more than one batch
      await eventually(async () => expect((await runner.lag())[0]?.error).toBeDefined());
      server = await startPostgres({ dir: data, port });
      await eventually(async () => expect(await row('a', own)).toEqual({ total: 703, commits: 703 }), 20_000);
    } finally {
      await Promise.all(runners.splice(0).map((runner) => runner.stop()));
      await reader.end();
      await server.kill();
      await rm(dir, { recursive: true, force: true });
    }
  });
});

describe('a read after a write', () => {
  it('waits until the view has it', async () => {
    const pool = database.pool('ticket');
    const runner = run();
    const seq = await add('a', 20);
    await waitFor({ bus, pool, runner, projection: counters, seq });
    expect(await row('a')).toMatchObject({ total: 20 });
    await waitFor({ bus, pool, projection: counters, seq: await add('a') });
    expect(await row('a')).toMatchObject({ total: 21 });
  });

  it('of a view of other subjects is content when nothing is pending', async () => {
    run();
    const { seq } = await bus.publishAcked('cortex.evt.ticket.ws.other.x', '{}');
    await waitFor({ bus, pool: database.pool('ticket'), projection: counters, seq });
  });

  it('is unavailable when the view does not come in time', async () => {
    const seq = await add('a');
    const late = waitFor({ bus, pool: database.pool('ticket'), projection: counters, seq, ms: 200 });
    await expect(late).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('waits on while a cluster that chooses a leader cannot tell what is pending', async () => {
    const pool = database.pool('ticket');
    const answer = { json: () => ({ error: { code: 503, description: 'JetStream system temporarily unavailable' } }) };
    const choosing = new Proxy(bus, {
      get: (target, key) => (key === 'request' ? () => Promise.resolve(answer) : Reflect.get(target, key, target)),
    });
    const seq = await add('a');
    const late = waitFor({ bus: choosing, pool, projection: counters, seq, ms: 300 });
    await expect(late).rejects.toMatchObject({ kind: 'unavailable', details: { projection: counters.name } });
    await expect(consumerState(choosing, STREAM, counters.name)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
