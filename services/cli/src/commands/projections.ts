import {
  projectionStatus,
  rebuildProjection,
  type Projection,
  type ProjectionStatus,
  type Provisionable,
} from '@cortex/eventstore';
import { withAdmin, type Admin } from '../admin.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf, type Home } from '../home.js';
import { print, printJson, table, tell } from '../output.js';
import { loadDefinitions } from '../provision.js';

interface View {
  service: Provisionable;
  projection: Projection;
}

const viewsOf = (services: readonly Provisionable[]): View[] =>
  services.flatMap((service) => (service.projections ?? []).map((projection) => ({ service, projection })));

export async function projectionsStatus(flags: { home?: string; json?: boolean }): Promise<void> {
  const rows = await statesOf(homeOf(flags.home));
  if (flags.json) return printJson({ projections: rows });
  const head = ['projection', 'service', 'sequence', 'behind'];
  print(table([head, ...rows.map((r) => [r.projection, r.service, String(r.seq), standing(r)])]));
}

const standing = ({ pending, lost }: ProjectionStatus): string =>
  lost ? 'lost; rebuild it' : String(pending ?? 'no consumer; run cortex provision');

export async function statesOf(home: Home): Promise<ProjectionStatus[]> {
  return withAdmin(home, async ({ bus, adminUrl }) =>
    projectionStatus({ bus, adminUrl, services: await loadDefinitions() }),
  );
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
    const chosen = flags.all
      ? views.filter(({ projection }) => projection.proof === undefined)
      : views.filter(({ projection }) => projection.name === name);
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
