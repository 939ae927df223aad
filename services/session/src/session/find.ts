import { isCortexError, NO_WORKSPACE } from '@cortex/contracts';
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
export async function settled(ctx: Pick<Call, 'get' | 'signal'>, seq?: number): Promise<void> {
  const { bus, pool, projections: runner } = ctx.get<ServiceHost>(HOST);
  // Without a sequence the server is asked whether anything is pending; the runner could only wait for what never comes.
  const until = seq === undefined ? { seq: Number.MAX_SAFE_INTEGER } : { seq, runner };
  try {
    await waitFor({ bus, pool, projection: sessions, signal: ctx.signal, ...until });
  } catch (error) {
    if (ctx.signal.aborted || !isCortexError(error) || error.kind !== 'unavailable') throw error;
  }
}
