import { CALLS_STREAM, EVENTS_STREAM } from '@cortex/contracts';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { NODES, type Node } from './cluster.js';
import type { Fleet } from './fleet.js';

/** One way in which a fleet is broken. */
export interface Fault {
  name: string;
  /** Does it, and ends it where it does not end by itself. Resolves when nothing is broken on purpose any more. */
  strike(fleet: Fleet, holdMs: number): Promise<void>;
  /** Part of the short form. */
  short?: true;
}

/** How long a process is stopped, a host cut off and a stream full; the second in the short form. */
export const HOLD_MS = { long: 20_000, short: 5_000 } as const;
const DOWN_MS = 2_000;
/** More than arrive while the limit is being set. */
const ROOM = 1_000;
const FILL_MS = 60_000;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const killed = (name: string, short?: true): Fault => ({
  name: `kill -9 of ${name}`,
  ...(short && { short }),
  async strike(fleet) {
    process.kill(fleet.pid(name), 'SIGKILL');
    await wait(DOWN_MS);
  },
});

const paused = (name: string, pid: (fleet: Fleet) => Promise<number> | number, short?: true): Fault => ({
  name: `SIGSTOP of ${name}`,
  ...(short && { short }),
  async strike(fleet, holdMs) {
    const stopped = await pid(fleet);
    process.kill(stopped, 'SIGSTOP');
    try {
      await wait(holdMs);
    } finally {
      process.kill(stopped, 'SIGCONT');
    }
  },
});

const cutOff = (name: string, times: number, short?: true): Fault => ({
  name,
  ...(short && { short }),
  async strike(fleet, holdMs) {
    fleet.cutOff('b', true);
    try {
      await wait(times * holdMs);
    } finally {
      fleet.cutOff('b', false);
    }
  },
});

const full = (stream: string, short?: true): Fault => ({
  name: `${stream} full`,
  ...(short && { short }),
  async strike(fleet, holdMs) {
    try {
      await fill(fleet, stream);
      await wait(holdMs);
    } finally {
      await withStream(fleet, stream, (jsm) => jsm.streams.update(stream, { max_msgs: -1 }));
    }
  },
});

/**
 * Leaves room for so many messages, and waits until callers have filled it; goes on when they have not in a minute. A limit of bytes would
 * do no good: a server of 2.9 weighs a new message without its frame, and where only that is too much it makes room by dropping the oldest.
 */
const fill = (fleet: Fleet, stream: string): Promise<void> =>
  withStream(fleet, stream, async (jsm) => {
    const held = async (): Promise<number> => (await jsm.streams.info(stream)).state.messages;
    const max_msgs = (await held()) + ROOM;
    await jsm.streams.update(stream, { max_msgs });
    const until = performance.now() + FILL_MS;
    while ((await held()) < max_msgs && performance.now() < until) await wait(200);
  });

const withStream = async (fleet: Fleet, stream: string, work: (jsm: JetStreamManager) => Promise<unknown>) => {
  await fleet.admin(async ({ bus }) => work(await jetstreamManager(bus.nc)));
};

const leader = (fleet: Fleet): Promise<Node> =>
  fleet.admin(async ({ bus }) => {
    const { cluster } = await (await jetstreamManager(bus.nc)).streams.info(EVENTS_STREAM);
    const found = NODES.find((node) => node === cluster?.leader);
    if (found === undefined) throw new Error(`${EVENTS_STREAM} has no leader`);
    return found;
  });

/** Everything that is done to a fleet, in order. `members` are its processes. */
export const faultsOf = (members: readonly string[]): Fault[] => [
  { name: 'nothing', short: true, strike: () => wait(0) },
  ...members.map((name) => killed(name, name.startsWith('a/') ? true : undefined)),
  {
    name: `kill -9 of the leader of ${EVENTS_STREAM}`,
    short: true,
    async strike(fleet) {
      const node = await leader(fleet);
      await fleet.cluster.kill(node);
      await wait(DOWN_MS);
      await fleet.cluster.begin(node);
    },
  },
  killed('postgres', true),
  ...members.filter((name) => name.startsWith('a/')).map((name) => paused(name, (fleet) => fleet.pid(name))),
  paused(`the leader of ${EVENTS_STREAM}`, async (fleet) => fleet.cluster.pid(await leader(fleet)), true),
  paused('postgres', (fleet) => fleet.pid('postgres')),
  cutOff('host b cut off', 1, true),
  // Longer than anybody waits for it: what it held is taken over.
  cutOff('host b cut off for long', 4),
  full(CALLS_STREAM, true),
  full(EVENTS_STREAM),
  {
    name: 'every process rolled',
    async strike(fleet) {
      for (const name of fleet.members) await fleet.roll(name);
    },
  },
];
