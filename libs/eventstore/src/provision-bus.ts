import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@cortex/bus';
import {
  BLOBS,
  BLOB_TTL_S,
  BUCKETS,
  CALLS_STREAM,
  EVENTS_STREAM,
  SSE_STREAM,
  streamOf,
  type Bucket,
  type ConsumerRef,
} from '@cortex/contracts';
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  jetstreamManager,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type ConsumerConfig,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { errors, type NatsConnection } from '@nats-io/transport-node';
import type { Provisionable } from './provision-database.js';

const NS = 1_000_000;
const SECOND = 1000 * NS;
const DAY = 86_400 * SECOND;

/** Milliseconds after which an unacknowledged message comes again. Short: who works longer says so by heartbeats. */
export const ACK_WAIT_MS = 10_000;
/** Messages of one batch, and of a projection's consumer in flight: order is kept by there being one batch. */
export const BATCH = 500;
/** Commits that a reactor works on at once over all instances. */
export const REACTOR_IN_FLIGHT = 64;

export interface ProvisionBusOptions {
  /** As the provisioning user. */
  nc: NatsConnection;
  services: readonly Provisionable[];
  retention?: {
    /** Days that call records are kept, default 365. */
    callsDays?: number;
  };
  /** Copies of each stream, default 1. */
  replicas?: number;
  /** Default ACK_WAIT_MS; shorter only where a test waits for it. */
  ackWaitMs?: number;
  log?: Log;
}

/** Every durable consumer that the registries of a service list; the bus permissions are made by it. */
export function consumersOf(service: Pick<Provisionable, 'projections' | 'reactors'>): ConsumerRef[] {
  return [...(service.projections ?? []), ...(service.reactors ?? [])].map(({ name, subject }) => ({
    stream: streamOf(subject),
    name,
  }));
}

/** Makes or updates streams, buckets, durable consumers and the tool owners. Idempotent; provisioning identity only. */
export async function provisionBus(options: ProvisionBusOptions): Promise<void> {
  const owners = toolOwners(options.services);
  assertNamesUnique(options.services);
  await onceSettled(() => putAll(options, owners));
  options.log?.('info', 'bus provisioned', { services: options.services.length, tools: Object.keys(owners).length });
}

async function putAll(options: ProvisionBusOptions, owners: Record<string, string>): Promise<void> {
  const jsm = await jetstreamManager(options.nc);
  const ack_wait = (options.ackWaitMs ?? ACK_WAIT_MS) * NS;
  for (const config of streams(options)) await putStream(jsm, config);
  for (const { projections = [], reactors = [] } of options.services) {
    for (const { name, subject } of projections) {
      await putConsumer(jsm, streamOf(subject), {
        durable_name: name,
        filter_subject: subject,
        ack_policy: AckPolicy.All,
        deliver_policy: DeliverPolicy.All,
        max_ack_pending: BATCH,
        ack_wait,
      });
    }
    for (const { name, subject, from } of reactors) {
      await putConsumer(jsm, streamOf(subject), {
        durable_name: name,
        filter_subject: subject,
        ack_policy: AckPolicy.Explicit,
        deliver_policy: from === 'start' ? DeliverPolicy.All : DeliverPolicy.New,
        max_ack_pending: REACTOR_IN_FLIGHT,
        ack_wait,
      });
    }
  }
  await putOwners(jsm, owners);
}

/** Of a cluster whose servers have not all met yet, or that chooses a leader. */
const UNSETTLED = new Set([10005, 10008, 10009]);
const isUnsettled = (error: unknown): boolean =>
  error instanceof errors.TimeoutError || (error instanceof JetStreamApiError && UNSETTLED.has(error.code));
const SETTLES_MS = 30_000;

/** Until a cluster that has just begun can do it; then, or when it never can, the error as it is. */
async function onceSettled(work: () => Promise<void>): Promise<void> {
  const until = performance.now() + SETTLES_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isUnsettled(error) || performance.now() > until) throw error;
      await sleep(250);
    }
  }
}

function streams({ retention, replicas = 1 }: ProvisionBusOptions): (Partial<StreamConfig> & { name: string })[] {
  const common = {
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    num_replicas: replicas,
    allow_direct: true,
    // A full stream refuses what is new; it never drops what was acknowledged.
    discard: DiscardPolicy.New,
    duplicate_window: 120 * SECOND,
  };
  const buckets = (Object.values(BUCKETS) as Bucket[]).map(({ name, ttl_s }) => ({
    ...common,
    name: `KV_${name}`,
    subjects: [`$KV.${name}.>`],
    max_msgs_per_subject: 1,
    // By one such message whoever may write one key could clear the whole bucket. Said, since older homes have it on.
    allow_rollup_hdrs: false,
    deny_delete: true,
    max_age: ttl_s * SECOND,
    // The server wants it to be no longer than the age.
    duplicate_window: Math.min(ttl_s || 120, 120) * SECOND,
  }));
  return [
    { ...common, name: EVENTS_STREAM, subjects: ['cortex.evt.>'] },
    { ...common, name: CALLS_STREAM, subjects: ['cortex.call.>'], max_age: (retention?.callsDays ?? 365) * DAY },
    {
      ...common,
      name: SSE_STREAM,
      subjects: ['cortex.sse.>'],
      max_age: 600 * SECOND,
      max_msgs_per_subject: 1000,
      discard: DiscardPolicy.Old,
    },
    { ...common, name: BLOBS, subjects: ['cortex.blob.>'], max_age: BLOB_TTL_S * SECOND },
    ...buckets,
  ];
}

async function putStream(jsm: JetStreamManager, config: Partial<StreamConfig> & { name: string }): Promise<void> {
  const { name, storage: _storage, retention: _retention, ...changeable } = config;
  const exists = await jsm.streams.info(name).then(
    () => true,
    (error: unknown) => (isNotFound(error) ? false : Promise.reject(error)),
  );
  if (exists) await jsm.streams.update(name, changeable);
  else await jsm.streams.add(config);
}

async function putConsumer(jsm: JetStreamManager, stream: string, wanted: Partial<ConsumerConfig>): Promise<void> {
  const name = wanted.durable_name ?? '';
  const config = { ...wanted, max_deliver: -1 };
  const there = await jsm.consumers.info(stream, name).catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
  if (
    there &&
    (there.config.filter_subject !== config.filter_subject || there.config.ack_policy !== config.ack_policy)
  ) {
    throw new Error(
      `consumer ${name} reads ${there.config.filter_subject}, its code says ${config.filter_subject}; ` +
        'give the changed one a new name (_v2), so that it reads the log from its beginning',
    );
  }
  const info = there
    ? await jsm.consumers.update(stream, name, { ack_wait: config.ack_wait!, max_ack_pending: config.max_ack_pending! })
    : await jsm.consumers.add(stream, config);
  // The wire has nanoseconds; a wait in another unit would be 20 ms or six hours, and nobody would be told (P79).
  if (info.config.ack_wait !== config.ack_wait) {
    throw new Error(
      `consumer ${name} has ack_wait ${info.config.ack_wait} ns instead of ${config.ack_wait} ns; see the server`,
    );
  }
}

const isNotFound = (error: unknown): boolean =>
  error instanceof JetStreamApiError && (error.code === 10059 || error.code === 10014);

/** Bucket `cortex_tools`, key `_owners`: a tool is taken only from the service in whose registry it stands (T83). */
async function putOwners(jsm: JetStreamManager, owners: Record<string, string>): Promise<void> {
  const subject = `$KV.${BUCKETS.tools.name}._owners`;
  const text = JSON.stringify(owners);
  const there = await jsm.streams.getMessage(`KV_${BUCKETS.tools.name}`, { last_by_subj: subject });
  // The right text may have been put there by somebody who may not: readers do not believe it.
  const ours = there !== null && !there.header.has('Nats-Stream');
  if (!ours || there.string() !== text) await jsm.jetstream().publish(subject, text);
}

function toolOwners(services: readonly Provisionable[]): Record<string, string> {
  const owners: Record<string, string> = {};
  for (const { name: service, tools } of services) {
    for (const { name: tool } of tools) {
      const other = owners[tool];
      if (other !== undefined)
        throw new Error(`tool ${tool} is in the registries of ${other} and ${service}; rename one`);
      owners[tool] = service;
    }
  }
  return Object.fromEntries(Object.entries(owners).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function assertNamesUnique(services: readonly Provisionable[]): void {
  const seen = new Map<string, string>();
  for (const service of services) {
    for (const { name } of consumersOf(service)) {
      const other = seen.get(name);
      if (other !== undefined) throw new Error(`consumer ${name} is in ${other} and ${service.name}; rename one`);
      seen.set(name, service.name);
    }
  }
}
