import { BLOBS, BUCKETS, CALLS_STREAM, EVENTS_STREAM } from '@cortex/contracts';
import { JetStreamApiError, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

const NO_STREAM = 10059;
const kv = ({ name }: { name: string }): string => `KV_${name}`;

/**
 * What a backup holds of the bus, in the order in which it is taken. Commits come last: then nobody was told of a change, by a record
 * or by a result that is kept for its key, that is not in the backup. What is left out says who is there just now (nodes, sessions of
 * clients, rates, streams of answers) or is announced again by every service that starts.
 */
export const BACKED_UP: readonly string[] = [
  kv(BUCKETS.idempotency),
  kv(BUCKETS.catalog),
  BLOBS,
  CALLS_STREAM,
  EVENTS_STREAM,
];

/** Streams and buckets of ours that are on a bus, and how many messages the log of them has. */
export async function streamsOn(nc: NatsConnection): Promise<{ names: string[]; logged: number }> {
  const jsm = await jetstreamManager(nc);
  const all = await statesOn(jsm);
  const logged = all.filter(({ name }) => name === EVENTS_STREAM || name === CALLS_STREAM);
  return { names: all.map(({ name }) => name), logged: logged.reduce((sum, { messages }) => sum + messages, 0) };
}

/** Makes room for streams out of a backup. */
export async function deleteStreams(nc: NatsConnection): Promise<void> {
  const jsm = await jetstreamManager(nc);
  for (const { name } of await statesOn(jsm)) await jsm.streams.delete(name);
}

/** `<service>.<instance>` of everybody at work. Who lives says so every three seconds, and is forgotten after ten. */
export async function instancesOn(nc: NatsConnection): Promise<string[]> {
  const { name } = BUCKETS.nodes;
  const jsm = await jetstreamManager(nc);
  const info = await jsm.streams.info(kv(BUCKETS.nodes), { subjects_filter: '>' }).catch((error: unknown) => {
    if (error instanceof JetStreamApiError && error.code === NO_STREAM) return null;
    throw error;
  });
  const prefix = `$KV.${name}.`;
  return Object.keys(info?.state.subjects ?? {})
    .map((subject) => subject.slice(prefix.length))
    .toSorted();
}

async function statesOn(jsm: JetStreamManager): Promise<{ name: string; messages: number }[]> {
  const found = [];
  for await (const { config, state } of jsm.streams.list()) {
    if (/^(CORTEX_|KV_cortex_|cortex_)/.test(config.name)) found.push({ name: config.name, messages: state.messages });
  }
  return found;
}
