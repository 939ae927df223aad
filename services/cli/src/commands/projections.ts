import { schemaOf } from '@cortex/contracts/services';
import { streamOf } from '@cortex/contracts';
import { rebuildProjection, type Projection, type Provisionable } from '@cortex/eventstore';
import { Client } from 'pg';
import { withAdmin, type Admin } from '../admin.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { print, printJson, table, tell } from '../output.js';
import { loadDefinitions } from '../provision.js';

interface View {
  service: Provisionable;
  projection: Projection;
}

export const viewsOf = (services: readonly Provisionable[]): View[] =>
  services.flatMap((service) => (service.projections ?? []).map((projection) => ({ service, projection })));

export interface ProjectionState {
  projection: string;
  service: string;
  /** Highest sequence that is in the tables; 0 before the first. */
  seq: number;
  /** Messages that are not in them yet; null when the server does not say. */
  pending: number | null;
}

export async function projectionsStatus(flags: { home?: string; json?: boolean }): Promise<void> {
  const rows = await withAdmin(homeOf(flags.home), async (admin) => statesOf(admin, viewsOf(await loadDefinitions())));
  if (flags.json) return printJson({ projections: rows });
  const head = ['projection', 'service', 'sequence', 'behind'];
  print(table([head, ...rows.map((r) => [r.projection, r.service, String(r.seq), String(r.pending ?? '?')])]));
}

export async function statesOf(admin: Admin, views: readonly View[]): Promise<ProjectionState[]> {
  const client = new Client({ connectionString: admin.adminUrl });
  await client.connect();
  try {
    const rows: ProjectionState[] = [];
    for (const { service, projection } of views) {
      rows.push({
        projection: projection.name,
        service: service.name,
        seq: await checkpoint(client, service.name, projection.name),
        pending: await pendingOf(admin, streamOf(projection.subject), projection.name),
      });
    }
    return rows;
  } finally {
    await client.end();
  }
}

async function checkpoint(client: Client, service: string, projection: string): Promise<number> {
  const table = `${client.escapeIdentifier(schemaOf(service))}.projection_checkpoint`;
  const { rows } = await client.query(`select seq from ${table} where projection = $1`, [projection]);
  return Number((rows[0] as { seq: string } | undefined)?.seq ?? 0);
}

async function pendingOf({ bus }: Admin, stream: string, consumer: string): Promise<number | null> {
  const answer = await bus.request(`$JS.API.CONSUMER.INFO.${stream}.${consumer}`, '', { timeoutMs: 5_000 });
  const info = answer.json<{ num_pending?: number; num_ack_pending?: number }>();
  return info.num_pending === undefined ? null : info.num_pending + (info.num_ack_pending ?? 0);
}

export async function projectionsRebuild(
  name: string | undefined,
  flags: { home?: string; all?: boolean; json?: boolean },
): Promise<void> {
  if ((name === undefined) === (flags.all !== true)) {
    throw new CliError('rebuild needs the name of one projection, or --all', EXIT.usage);
  }
  const rebuilt = await withAdmin(homeOf(flags.home), async (admin) => {
    const views = viewsOf(await loadDefinitions());
    const chosen = flags.all ? views : views.filter(({ projection }) => projection.name === name);
    if (chosen.length === 0) {
      const names = views.map(({ projection }) => projection.name).join(', ');
      throw new CliError(`projection ${JSON.stringify(name)} is unknown; there are: ${names}`, EXIT.usage);
    }
    const done = [];
    for (const view of chosen) done.push(await rebuild(admin, view));
    return done;
  });
  if (flags.json) printJson({ rebuilt });
  else
    print(
      table([
        ['projection', 'events', 'up to sequence'],
        ...rebuilt.map((r) => [r.projection, String(r.applied), String(r.seq)]),
      ]),
    );
}

async function rebuild({ bus, adminUrl }: Admin, { service, projection }: View) {
  tell(`rebuilding ${projection.name}`);
  let told = Date.now();
  const { applied, seq } = await rebuildProjection({
    bus,
    adminUrl,
    projection,
    service,
    onProgress: ({ applied: so_far, pending }) => {
      if (Date.now() - told < 2_000) return;
      told = Date.now();
      tell(`${projection.name}: ${so_far} applied, ${pending} to go`);
    },
  });
  return { projection: projection.name, applied, seq };
}
