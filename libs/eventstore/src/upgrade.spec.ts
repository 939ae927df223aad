import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Bus } from '@cortex/bus';
import {
  counter,
  counterMigrations,
  counters,
  eventually,
  natsFixture,
  postgresFixture,
  type CounterCommand,
  type CounterEvent,
  type CounterState,
  type NatsFixture,
  type PostgresFixture,
} from '@cortex/testing';
import { defineDecider, type Decider } from './decider.js';
import { EventStore } from './event-store.js';
import { ProjectionRunner } from './projection-runner.js';
import { defineProjection, type Projection } from './projection.js';
import { rebuildProjection } from './rebuild.js';
import type { Provisionable } from './provision-database.js';

/** The release before: an increment had no `by` and meant one. */
const before: Decider<CounterCommand, CounterEvent, CounterState> = defineDecider({
  ...counter,
  version: {},
  upcast: {},
  decide: (command, state) =>
    counter
      .decide(command, state)
      .map((event) => (event.type === 'CounterIncremented' ? ({ ...event, data: {} } as typeof event) : event)),
  evolve: (state, event) =>
    counter.evolve(state, event.type === 'CounterIncremented' ? { ...event, data: { by: 1 } } : event),
});
const increment = counters.on['CounterIncremented']!;
const viewBefore: Projection = defineProjection({
  ...counters,
  version: {},
  upcast: {},
  on: { ...counters.on, CounterIncremented: (event, tx) => increment({ ...event, data: { by: 1 } }, tx) },
});

const service: Provisionable = { name: 'ticket', tools: [], projections: [counters], migrations: counterMigrations };

let nats: NatsFixture;
let database: PostgresFixture;
let bus: Bus;
const runners: ProjectionRunner[] = [];
beforeEach(async () => {
  nats = await natsFixture({ services: [service] });
  database = await postgresFixture([service]);
  bus = await nats.busAs('ticket');
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  await nats[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** One instance of a release: what it decides with and what it projects with. */
function instance(decider: typeof before, view: Projection) {
  const url = new URL(database.adminUrl);
  [url.username, url.password] = ['ticket_projector', database.passwordOf('ticket_projector')];
  const config = { connectionString: url.href };
  const runner = new ProjectionRunner({ bus, schema: 'ticket', database: config, projections: [view] });
  runner.start();
  runners.push(runner);
  const store = new EventStore({ bus });
  let n = 0;
  return {
    runner,
    add: (id: string, by = 1) =>
      store.execute(
        decider,
        'ws',
        id,
        { type: 'IncrementCounter', by },
        {
          commitId: `${view === viewBefore ? 'old' : 'new'}-${id}-${++n}`,
          at: '2026-01-01T00:00:00.000Z',
          actor: { kind: 'system', id: 'test' },
          correlation_id: 'x',
          causation_id: 'x',
        },
      ),
    total: async (id: string) => ((await store.load(decider, 'ws', id)).state as { total?: number }).total,
  };
}

const totals = async (): Promise<Record<string, number>> => {
  const { rows } = await database.pool().query('select * from ticket.counters');
  return Object.fromEntries(
    rows.map((row: { counter_id: string; total: number }) => [row.counter_id, Number(row.total)]),
  );
};
const active = (runner: ProjectionRunner) => eventually(async () => (await runner.lag())[0]?.active === true);
const caughtUp = (runner: ProjectionRunner) =>
  eventually(async () => expect(await runner.lag()).toMatchObject([{ pending: 0, active: true }]));

it('a fleet that is rolled over a new version of an event decides nothing wrong, and a rebuild fills what old views left out', async () => {
  const old = instance(before, viewBefore);
  await active(old.runner);
  await old.add('a');
  await old.add('b');
  const young = instance(counter, counters);
  // The new one reads what the old one wrote, and goes on from there.
  await young.add('a', 10);
  expect(await young.total('a')).toBe(11);
  // The old one decides on nothing that it cannot read whole, and goes on with everything else.
  await expect(old.add('a')).rejects.toMatchObject({
    kind: 'failed_precondition',
    message: expect.stringContaining('newer release'),
  });
  await old.add('b');
  await young.add('b', 5);
  await caughtUp(old.runner);
  expect(await old.runner.lag()).toMatchObject([{ skipped: 2 }]);
  expect(await totals()).toEqual({ a: 1, b: 2 });

  await old.runner.stop();
  await active(young.runner);
  await young.add('a', 100);
  await caughtUp(young.runner);
  // While it serves, and goes on.
  const admin = await nats.busAs('provision');
  const work = young.add('c', 7);
  const rebuilt = await rebuildProjection({ bus: admin, adminUrl: database.adminUrl, service, projection: counters });
  await work;
  expect(rebuilt.skipped).toBe(0);
  await eventually(async () => expect(await totals()).toEqual({ a: 111, b: 7, c: 7 }));
  expect([await young.total('a'), await young.total('b'), await young.total('c')]).toEqual([111, 7, 7]);
});

it('a reader that is rolled before the owner of the event leaves nothing out', async () => {
  const reader = instance(counter, counters);
  await active(reader.runner);
  const oldOwner = instance(before, viewBefore);
  await oldOwner.add('a');
  const newOwner = instance(counter, counters);
  await newOwner.add('a', 10);
  await caughtUp(reader.runner);
  expect(await totals()).toEqual({ a: 11 });
  expect(await reader.runner.lag()).toMatchObject([{ skipped: 0 }]);
});
