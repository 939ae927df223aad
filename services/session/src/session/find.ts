import { NO_WORKSPACE, type CortexError } from '@cortex/contracts';
import { tenantDb, waitFor } from '@cortex/eventstore';
import { HOST, type ServiceHost, type ToolContext } from '@cortex/service-kit';
import type { Kysely } from 'kysely';
import { sessions } from '../projections/sessions.projection.js';
import type { SessionDb } from '../projections/tables.js';
import { session, unknownSession, type SessionState } from './session.decider.js';

export interface FoundSession {
  session_id: string;
  /** Null for none. */
  workspace: string | null;
  /** As the log has it now. */
  state: Exclude<SessionState, { status: 'none' }>;
  /** Of its last commit. */
  seq: number;
}

type Call = Pick<ToolContext, 'get' | 'load' | 'signal'>;

/** A session by its id alone, in whatever workspace it is. Errors: `not_found` (session_id). */
export async function findSession(ctx: Call, session_id: string): Promise<FoundSession> {
  const place = (await placeOf(ctx, session_id)) ?? (await settled(ctx).then(() => placeOf(ctx, session_id)));
  if (place === undefined) throw unknownSession();
  const workspace = place.workspace === NO_WORKSPACE ? null : place.workspace;
  const { state, seq } = await ctx.load(session, session_id, { workspace });
  if (state.status === 'none') throw unknownSession(); // erased from the log, and the view not yet made anew
  return { session_id, workspace, state, seq };
}

const placeOf = (ctx: Call, session_id: string) =>
  rowsOf(ctx, null)
    .selectFrom('session_ids')
    .select('workspace')
    .where('session_id', '=', session_id)
    .executeTakeFirst();

/** The rows of one workspace as they are now; `null` for what belongs to none, and for the places of all sessions. */
export const rowsOf = (ctx: Pick<Call, 'get'>, workspace: string | null): Kysely<SessionDb> =>
  tenantDb<SessionDb>(ctx.get<ServiceHost>(HOST).pool, workspace ?? NO_WORKSPACE);

/** Waits until the view holds a commit, or all that was committed so far. A view that stays behind answers with what it has. */
export async function settled(ctx: Pick<Call, 'get' | 'signal'>, seq = Number.MAX_SAFE_INTEGER): Promise<void> {
  const { bus, pool, projections: runner } = ctx.get<ServiceHost>(HOST);
  try {
    await waitFor({ bus, pool, runner, projection: sessions, seq, signal: ctx.signal });
  } catch (error) {
    if (ctx.signal.aborted || (error as CortexError).kind !== 'unavailable') throw error;
  }
}
