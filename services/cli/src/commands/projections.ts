import { projectionStatus, type ProjectionStatus } from '@cortex/eventstore';
import { withAdmin } from '../admin.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf, type Home } from '../home.js';
import { print, printJson, table } from '../output.js';
import { loadDefinitions } from '../provision.js';
import { rebuildable, rebuildViews, viewsOf } from '../views.js';

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
    const chosen = flags.all ? rebuildable(views) : views.filter(({ projection }) => projection.name === name);
    if (chosen.length === 0) {
      const names = views.map(({ projection }) => projection.name).join(', ');
      throw new CliError(`projection ${JSON.stringify(name)} is unknown; there are: ${names}`, EXIT.usage);
    }
    return rebuildViews(admin, chosen);
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
