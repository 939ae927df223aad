import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HealthRegistry } from '@cortex/service-kit';
import type { Catalog } from '../catalog/catalog.js';
import type { Federation } from '../federation/federation.js';
import type { Integrity } from '../federation/integrity/integrity.js';
import type { LiveViews } from '../guard/live-views.js';
import { sameSecret } from '../auth/same-secret.js';
import type { Settings } from '../settings.js';
import { isLoopbackPeer } from './client-ip.js';

/** The parts of the edge that say how they are. */
export interface ReadyWorld {
  readonly settings: Pick<
    Settings,
    'production' | 'CORTEX_METRICS_TOKEN' | 'adminSecret' | 'CORTEX_TOOL_INTEGRITY_MODE'
  >;
  readonly health: Pick<HealthRegistry, 'report'>;
  readonly catalog: Pick<Catalog, 'all'>;
  readonly federation: Pick<Federation, 'shelves' | 'refreshedAt' | 'collisions'>;
  readonly integrity: Pick<Integrity, 'degraded' | 'heldCount'>;
  readonly views: Pick<LiveViews, 'behind'>;
}

/** Anybody is told whether, and counts. */
export interface ReadyAnswer {
  status: 'ready' | 'not_ready';
  catalog: { tools: number; backends: number; unreachable: number; ageMs: number | null };
  nats: 'up' | 'down';
  postgres: 'up' | 'down';
  integrity: { mode: string; degraded: boolean; held: number };
  /** Schemas of backends that cannot be offered, and names of theirs that meet. */
  schemaFaults: number;
  collisions: number;
}

/** For who looks after the house: what is wrong, in words. */
interface Checks {
  checks: Record<string, { ok: boolean; problem?: string }>;
}

/** For the holder of the metrics token or the admin secret alone, since it names backends. */
interface Details {
  details: {
    /** `since` = ISO time from which on it is known to be away. */
    unreachable: { backend: string; problem: string; since: string | null }[];
    collisions: string[];
    degraded: string[];
    /** Views that are behind the log. */
    lagging: string[];
  };
}

const ADMIN = 'x-cortex-admin-secret';

/** `GET /ready` of a process that holds the edge. 503 while calls would be refused; a backend that is away is none of that. Source: gateway, section 25. */
export async function answerReady(req: IncomingMessage, res: ServerResponse, world: ReadyWorld): Promise<void> {
  const { ready, checks } = await world.health.report();
  const trusted = isTrusted(req, world.settings);
  const inside = trusted || !world.settings.production || isAlone(req);
  const answer: ReadyAnswer & Partial<Checks & Details> = {
    ...summaryOf(world, ready, checks),
    ...(inside && { checks }),
    ...(trusted && { details: detailsOf(world) }),
  };
  res.writeHead(ready ? 200 : 503, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  res.end(req.method === 'HEAD' ? undefined : JSON.stringify(answer));
}

/** What a proxy on this machine passes on comes from anywhere. */
const isAlone = (req: IncomingMessage): boolean => isLoopbackPeer(req) && req.headers['x-forwarded-for'] === undefined;

function isTrusted({ headers }: IncomingMessage, { CORTEX_METRICS_TOKEN: token, adminSecret }: ReadyWorld['settings']) {
  const given = headers[ADMIN];
  return (
    (token !== undefined && sameSecret(headers.authorization ?? '', `Bearer ${token}`)) ||
    (adminSecret !== undefined && typeof given === 'string' && sameSecret(given, adminSecret))
  );
}

function summaryOf(world: ReadyWorld, ready: boolean, checks: Checks['checks']): ReadyAnswer {
  const { catalog, federation, integrity, settings } = world;
  const shelves = [...federation.shelves.values()];
  const { refreshedAt } = federation;
  const upOf = (what: string) =>
    Object.entries(checks).some(([name, { ok }]) => name.endsWith(what) && !ok) ? 'down' : 'up';
  return {
    status: ready ? 'ready' : 'not_ready',
    catalog: {
      tools: catalog.all().length,
      backends: shelves.length,
      unreachable: shelves.filter(({ healthy }) => healthy === false).length,
      ageMs: refreshedAt === null ? null : Math.max(0, Date.now() - Date.parse(refreshedAt)),
    },
    nats: upOf('.bus'),
    postgres: upOf('.database'),
    integrity: {
      mode: settings.CORTEX_TOOL_INTEGRITY_MODE,
      degraded: integrity.degraded.size > 0,
      held: integrity.heldCount,
    },
    schemaFaults: shelves.reduce((sum, { badSchemas }) => sum + badSchemas.length, 0),
    collisions: federation.collisions.size,
  };
}

function detailsOf({ federation, integrity, views }: ReadyWorld): Details['details'] {
  const unreachable = [...federation.shelves.values()].flatMap(({ backend, healthy, problem, awaySince = null }) =>
    healthy === false ? [{ backend: backend.id, problem: problem ?? 'unknown', since: awaySince }] : [],
  );
  return {
    unreachable,
    collisions: [...federation.collisions],
    degraded: [...integrity.degraded.keys()],
    lagging: views.behind.map(({ name }) => name),
  };
}
