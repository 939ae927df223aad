import type { Bus } from '@cortex/bus';
import { CALLS_STREAM, EVENTS_STREAM, schemaOf, type CallRecord } from '@cortex/contracts';
import { consumersOf, projectionStatus, rebuildProjection, type Provisionable } from '@cortex/eventstore';
import { unacknowledged } from '@cortex/eventstore/pull';
import { jetstreamManager } from '@nats-io/jetstream';
import { Client } from 'pg';
import { endsOf, readLog } from '../events/reader.js';
import { loadDefinitions } from '../provision.js';
import type { Told } from './traffic.js';

const LIMIT_MS = 60_000;

/** What is checked: a fleet, or whatever else has a bus and a database. */
export interface Checked {
  /** `bus` of the provisioning identity, `adminUrl` of the superuser, with credentials. */
  admin<T>(work: (as: { bus: Bus; adminUrl: string }) => Promise<T>): Promise<T>;
}

interface Envelope {
  events: { type: string; data: { title?: string; changes?: { title?: string } } }[];
}

/** What of all that callers were told is not in the log exactly once, and what they were never told that is there twice. */
export const answersAreInTheLogOnce = (checked: Checked, told: readonly Told[]): Promise<string[]> =>
  checked.admin(async ({ bus }) => {
    const times = new Map<string, number>();
    for await (const { data } of readLog(bus, await endsOf(bus), { subject: 'cortex.evt.ticket.>' })) {
      const { events = [] } = JSON.parse(Buffer.from(data).toString()) as Partial<Envelope>;
      for (const { type, data } of events) {
        const title =
          type === 'TicketDetailsUpdated' ? data.changes?.title : type === 'TicketCreated' ? data.title : undefined;
        if (title !== undefined) times.set(title, (times.get(title) ?? 0) + 1);
      }
    }
    const lost = told
      .filter(({ title }) => !times.has(title))
      .map(({ tool, ticket_id, title }) => `${tool} of ${ticket_id} (${title}) was answered and is not in the log`);
    const doubled = [...times].filter(([, n]) => n > 1).map(([title, n]) => `${title} is in the log ${n} times`);
    return [...lost, ...doubled];
  });

/** Messages that have left a stream: nothing of what is done here takes any out. */
export const nothingLeftTheLog = (checked: Checked): Promise<string[]> =>
  checked.admin(async ({ bus }) => {
    const { streams } = await jetstreamManager(bus.nc);
    const infos = await Promise.all([EVENTS_STREAM, CALLS_STREAM].map((stream) => streams.info(stream)));
    return infos.flatMap(({ config: { name }, state: { first_seq, last_seq, messages } }) =>
      messages === last_seq ? [] : `${name} holds ${messages} messages of ${last_seq}, the first is ${first_seq}`,
    );
  });

/** Consumers that are gone, or stand still although there is something for them; waits so long for those that are on their way. */
export const noConsumerIsStuck = (checked: Checked, limitMs = LIMIT_MS): Promise<string[]> =>
  checked.admin(async ({ bus, adminUrl }) => {
    const services = await loadDefinitions();
    const jsm = await jetstreamManager(bus.nc);
    const look = async (): Promise<string[]> => {
      const views = await projectionStatus({ bus, adminUrl, services });
      const behind = views
        .filter(({ pending, lost }) => lost || pending !== 0)
        .map(({ projection, pending, lost }) => `view ${projection} ${lost ? 'is lost' : `is ${pending} behind`}`);
      const waiting: string[] = [];
      const missing = new Set(services.flatMap(consumersOf).map(({ name }) => name));
      for (const stream of [EVENTS_STREAM, CALLS_STREAM])
        for await (const { config, ...consumer } of jsm.consumers.list(stream)) {
          const { name, num_pending } = consumer;
          missing.delete(name);
          const given = unacknowledged(consumer);
          // The others are of single readers; what a killed one leaves ends by itself.
          if (config.durable_name !== undefined && num_pending + given > 0)
            waiting.push(`consumer ${name} has ${num_pending} to read and ${given} to acknowledge`);
        }
      return [...behind, ...waiting, ...[...missing].map((name) => `consumer ${name} is not there`)];
    };
    return untilNone(look, limitMs);
  });

/** Calls that the trail shows without an end although the log has one, or the other way round. */
export const everyCallHasItsEnd = (checked: Checked): Promise<string[]> =>
  checked.admin(async ({ bus, adminUrl }) => {
    // Either may be stored first: the start is sent without waiting for its acknowledgement.
    const [started, ended] = [new Set<string>(), new Set<string>()];
    for await (const { data } of readLog(bus, await endsOf(bus), { subject: 'cortex.call.>' })) {
      const record = JSON.parse(Buffer.from(data).toString()) as CallRecord;
      (record.type === 'ToolCallStarted' ? started : ended).add(record.call_id);
    }
    const open = new Set([...started].filter((id) => !ended.has(id)));
    const shown = await query<{ id: string }>(adminUrl, 'select id from audit.tool_calls where outcome is null');
    const ids = new Set(shown.map(({ id }) => id));
    return [
      ...[...ids].filter((id) => !open.has(id)).map((id) => `call ${id} ended in the log, the trail shows it open`),
      ...[...open].filter((id) => !ids.has(id)).map((id) => `call ${id} has no end in the log, the trail shows one`),
    ];
  });

/** Tables that are not what a rebuild of their views gives; of all services unless some are given. */
export const viewsEqualARebuild = (checked: Checked, services?: readonly Provisionable[]): Promise<string[]> =>
  checked.admin(async ({ bus, adminUrl }) => {
    const views = (services ?? (await loadDefinitions())).flatMap((service) =>
      (service.projections ?? [])
        .filter(({ proof }) => proof === undefined)
        .map((projection) => ({ service, projection })),
    );
    const tables = [
      ...new Set(
        views.flatMap(({ service, projection }) => projection.tables.map((t) => `${schemaOf(service.name)}.${t}`)),
      ),
    ];
    const rows = async (): Promise<Map<string, string>> => {
      const found = new Map<string, string>();
      for (const table of tables) {
        const [{ digest } = { digest: '' }] = await query<{ digest: string }>(
          adminUrl,
          `select count(*) || ' ' || md5(coalesce(string_agg(to_jsonb(t)::text, ',' order by to_jsonb(t)::text), '')) as digest from ${table} t`,
        );
        found.set(table, digest);
      }
      return found;
    };
    const before = await rows();
    for (const { service, projection } of views) await rebuildProjection({ bus, adminUrl, projection, service });
    const after = await rows();
    return tables
      .filter((table) => before.get(table) !== after.get(table))
      .map((table) => `${table} held ${before.get(table)} and a rebuild gives ${after.get(table)}`);
  });

async function untilNone(look: () => Promise<string[]>, limitMs: number): Promise<string[]> {
  const until = Date.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found.length === 0 || Date.now() > until) return found;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function query<T extends object>(adminUrl: string, text: string): Promise<T[]> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end();
  }
}
