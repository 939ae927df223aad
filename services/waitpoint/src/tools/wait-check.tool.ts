import { CONFIG, defineTool, type ToolContext } from '@cortex/service-kit';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { Config } from '../config.js';
import type { WaitpointDb } from '../projections/tables.js';
import { waitpoints } from '../projections/waitpoints.projection.js';
import { askerOf, GROUP, isOwn, noSuchWaitpoint, WaitpointIdText } from './shared.js';
import { View, viewOf, type SignalShown } from './view.js';

/** Signals of one waitpoint that are shown: all that most ever have; a mailbox shows its newest. */
const SHOWN = 200;
/** In a list, where every waitpoint has some. */
const SHOWN_IN_LIST = 20;

/**
 * Shows one waitpoint, or all that the session is waiting for.
 * Events: none. Errors: not_found (id).
 */
export const waitCheck = defineTool({
  name: 'wait_check',
  title: 'Check waitpoints',
  description:
    'Shows one waitpoint with its signals, or without id everything that this session is waiting for, soonest expiry first. ' +
    'Resolved ones can be read by id for 3 days. You need not poll: you are woken.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  session: true,
  group: GROUP,
  untrusted: true,
  input: z.object({ id: WaitpointIdText.optional() }),
  output: z.object({
    waitpoint: View.optional().describe('With id'),
    waitpoints: z.array(View).optional().describe('Without id: the armed ones'),
  }),
  async handle({ id }, ctx) {
    const db = await ctx.read(waitpoints);
    return id === undefined ? { waitpoints: await armed(db, ctx) } : { waitpoint: await one(db, ctx, id) };
  },
});

async function one(db: Kysely<WaitpointDb>, ctx: ToolContext, id: string): Promise<View> {
  const row = await db.selectFrom('waitpoints').selectAll().where('waitpoint_id', '=', id).executeTakeFirst();
  if (row === undefined || !isOwn(askerOf(ctx), row)) throw noSuchWaitpoint();
  const signals = await newest(db, [id], SHOWN);
  return viewOf(row, signals, ctx.now(), capOf(ctx));
}

async function armed(db: Kysely<WaitpointDb>, ctx: ToolContext): Promise<View[]> {
  const { session_id, channel } = askerOf(ctx);
  const rows = await db
    .selectFrom('waitpoints')
    .selectAll()
    .where('state', '=', 'armed')
    .where((eb) => eb.or([eb('session_id', '=', session_id), ...(channel ? [eb('channel', '=', channel)] : [])]))
    .orderBy('expires_at')
    .orderBy('waitpoint_id')
    .execute();
  if (rows.length === 0) return [];
  const signals = await newest(
    db,
    rows.map((row) => row.waitpoint_id),
    SHOWN_IN_LIST,
  );
  const by = Map.groupBy(signals, (signal) => signal.waitpoint_id);
  return rows.map((row) => viewOf(row, (by.get(row.waitpoint_id) ?? []).map(shown), ctx.now(), capOf(ctx)));
}

type Found = SignalShown & { waitpoint_id: string };

const shown = ({ at, status, member, message, source }: Found): SignalShown => ({
  at,
  status,
  member,
  message,
  source,
});

/** The newest signals of each, oldest first. */
async function newest(db: Kysely<WaitpointDb>, ids: readonly string[], most: number): Promise<Found[]> {
  const ranked = db
    .selectFrom('signals')
    .select(['waitpoint_id', 'n', 'at', 'status', 'member', 'message', 'source'])
    .select((eb) =>
      eb.fn
        .agg<string>('row_number')
        .over((over) => over.partitionBy('waitpoint_id').orderBy('n', 'desc'))
        .as('rank'),
    )
    .where('waitpoint_id', 'in', ids);
  return db
    .selectFrom(ranked.as('ranked'))
    .select(['waitpoint_id', 'at', 'status', 'member', 'message', 'source'])
    .where('rank', '<=', String(most))
    .orderBy('n')
    .execute();
}

const capOf = (ctx: ToolContext): number => ctx.get<Config>(CONFIG).CORTEX_WAITPOINT_MAX_WAKES_PER_HOUR;
