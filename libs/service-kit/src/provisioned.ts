import type { Bus } from '@cortex/bus';
import {
  BLOBS,
  BUCKETS,
  EVENTS_STREAM,
  failedPrecondition,
  schemaOf,
  type ConsumerRef,
  type ServiceName,
} from '@cortex/contracts';
import { missingMigrations, type Migrations } from '@cortex/eventstore';
import type { Patience } from '@cortex/eventstore/pull';
import type { Pool } from '@cortex/eventstore/pool';

/** Stream, consumer not found. */
const MISSING = [10059, 10014];

/** Throws `failed_precondition` with "run cortex provision" when a stream, bucket or consumer is not there. */
export async function assertStreams(bus: Bus, consumers: readonly ConsumerRef[], patience: Patience): Promise<void> {
  const needed = [
    ...[EVENTS_STREAM, BLOBS, `KV_${BUCKETS.tools.name}`, `KV_${BUCKETS.nodes.name}`].map((stream) => ({
      what: `stream ${stream}`,
      api: `STREAM.INFO.${stream}`,
    })),
    ...consumers.map(({ stream, name }) => ({ what: `consumer ${name}`, api: `CONSUMER.INFO.${stream}.${name}` })),
  ];
  // One after the other: the server answers them so, and what is asked at once is late at once.
  for (const { what, api } of needed) await patience.ask((ms) => assertThere(bus, what, api, ms));
}

async function assertThere(bus: Bus, what: string, api: string, timeoutMs: number): Promise<void> {
  const reply = await bus.request(`$JS.API.${api}`, '', { timeoutMs });
  const { error } = reply.json<{ error?: { err_code?: number; description?: string } }>();
  if (!error) return;
  if (MISSING.includes(error.err_code ?? 0)) throw behind(`the ${what} is missing`);
  throw failedPrecondition(undefined, `the ${what} cannot be used (${error.description})`, 'see the NATS server');
}

/** Throws the same when the schema lacks one of this release's migrations. */
export async function assertSchema(pool: Pool, service: ServiceName, migrations: Migrations): Promise<void> {
  const schema = schemaOf(service);
  let missing: readonly string[];
  try {
    missing = await missingMigrations(pool, schema, migrations);
  } catch (cause) {
    // 28xxx: no such role, or another password; 3D000: no such database.
    const code = String((cause as { code?: unknown }).code);
    if (/^28|3D000/.test(code)) throw behind(`the database refuses the role ${schema} (${(cause as Error).message})`);
    throw cause;
  }
  if (missing.length > 0) throw behind(`the schema ${schema} is behind (${missing.join(', ')})`);
}

const behind = (problem: string) => failedPrecondition(undefined, problem, 'run cortex provision');
