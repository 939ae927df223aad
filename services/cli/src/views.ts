import { rebuildProjection, type Projection, type Provisionable } from '@cortex/eventstore';
import type { Admin } from './admin.js';
import { tell } from './output.js';

/** A projection and the service that it is of. */
export interface View {
  service: Provisionable;
  projection: Projection;
}

/** Every projection of these services, proofs among them. */
export const viewsOf = (services: readonly Provisionable[]): View[] =>
  services.flatMap((service) => (service.projections ?? []).map((projection) => ({ service, projection })));

/** All but proofs: made anew they would prove nothing. */
export const rebuildable = (views: readonly View[]): View[] =>
  views.filter(({ projection }) => projection.proof === undefined);

/** What a rebuild came to. */
export interface RebuiltView {
  projection: string;
  /** Commits and records that were read for it. */
  applied: number;
  /** The checkpoint. */
  seq: number;
  /** Messages that are no commits, or of a newer release. */
  skipped: number;
}

type As = Pick<Admin, 'bus' | 'adminUrl'>;

/** Every view of the log, one after the other. */
export const rebuildAll = (admin: As, services: readonly Provisionable[]): Promise<RebuiltView[]> =>
  rebuildViews(admin, rebuildable(viewsOf(services)));

/** One after the other; how far each is, is told on stderr. */
export async function rebuildViews(admin: As, views: readonly View[]): Promise<RebuiltView[]> {
  const done = [];
  for (const view of views) done.push(await rebuild(admin, view));
  return done;
}

async function rebuild({ bus, adminUrl }: As, { service, projection }: View): Promise<RebuiltView> {
  tell(`rebuilding ${projection.name}`);
  let told = Date.now();
  const { applied, seq, skipped } = await rebuildProjection({
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
  if (skipped > 0) tell(`${projection.name}: ${skipped} messages are no commits, or were written by a newer release`);
  return { projection: projection.name, applied, seq, skipped };
}
