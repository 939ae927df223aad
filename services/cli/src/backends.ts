import { readSecrets } from './secrets.js';
import type { Home } from './home.js';
import { since } from './output.js';
import type { UpState } from './up/state.js';

/** How the backends of a running home stand. */
export interface BackendsStand {
  configured: number;
  /** Those that do not say what they offer, why, and since when that is known. */
  away: { backend: string; problem: string; since: string | null }[];
  /** Tools, prompts, templates and resources that wait for an approval. */
  held: number;
  /** Those of which everything is held back, since what was approved of them cannot be believed. */
  doubted: string[];
}

const TIMEOUT_MS = 1_000;

/** Null while the edge cannot be asked, which the state of its process tells. */
export async function backendsOf(home: Home, { endpoint }: Pick<UpState, 'endpoint'>): Promise<BackendsStand | null> {
  try {
    const response = await fetch(new URL('/ready', endpoint), {
      headers: { 'x-cortex-admin-secret': process.env['CORTEX_ADMIN_SECRET'] || readSecrets(home).admin_secret },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { catalog, integrity, details } = (await response.json()) as {
      catalog?: { backends: number };
      integrity?: { held: number };
      details?: { unreachable: BackendsStand['away']; degraded: string[] };
    };
    if (!catalog || !integrity || !details) return null;
    const { unreachable: away, degraded: doubted } = details;
    return { configured: catalog.backends, away, held: integrity.held, doubted };
  } catch {
    return null;
  }
}

/** One line for the summary, one for each that is away, one for what is held back; empty where there are no backends. */
export function backendLines(stand: BackendsStand | null): string[] {
  if (stand === null || stand.configured === 0) return [];
  const { configured, away, held, doubted } = stand;
  const head = `backends: ${configured}, ${away.length === 0 ? 'all of them answer' : `${away.length} of them away`}`;
  return [
    head,
    ...away.map(({ backend, problem, since: from }) => {
      const long = from === null ? '' : ` for ${since(from)}`;
      return `  ${backend} is away${long}: ${problem}; nothing of it is offered until it answers again`;
    }),
    ...(doubted.length > 0
      ? [`  everything of ${doubted.join(', ')} is held back, for its approvals are in doubt: cortex tools pending`]
      : []),
    // What is in doubt is counted too, so the number alone would say nothing.
    ...(held > 0 && doubted.length === 0
      ? [`  held back until they are approved: ${held} (cortex tools pending)`]
      : []),
  ];
}
