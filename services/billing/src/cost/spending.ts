import { NO_WORKSPACE, notFound, permissionDenied } from '@cortex/contracts';
import type { BillingMode, CostEvent, CostSource } from '@cortex/contracts/cost';
import type { ToolContext } from '@cortex/service-kit';
import { findSession } from '@cortex/service-kit/ownership';
import { budgetNotes } from '../budget/budget-use.js';
import { BillingMetrics } from '../metrics.js';
import { roundUsd, toUsd } from '../money.js';
import { costMicros, type Tokens } from '../prices/price-table.js';
import { Prices } from '../prices/prices.js';
import { ownership } from '../projections/ownership.js';
import { cost, costId } from './cost.decider.js';

/** Spending as somebody reports it; what is left out is the session's, or unknown. */
export interface Spending {
  session_id: string;
  /** Names the record within its session: it counts once. */
  key: string;
  timestamp?: string | undefined;
  project?: string | undefined;
  trigger?: string | null | undefined;
  execution_id?: string | null | undefined;
  backend?: string | null | undefined;
  provider?: string | null | undefined;
  model?: string | null | undefined;
  tokens: Tokens;
  cost_usd?: number | null | undefined;
  num_turns?: number | null | undefined;
  duration_s?: number | null | undefined;
  mode?: BillingMode | null | undefined;
  source?: CostSource | null | undefined;
}

export interface Recorded {
  /** True when this call is the one that counts. */
  recorded: boolean;
  /** Of the record that counts, US dollars; null where no price is known. */
  cost_usd: number | null;
  /** What somebody should know: a model without a price, a budget that is used up. */
  warnings?: string[];
}

/**
 * Records spending once per session and key, in the session's workspace. A repeat, at whatever time, answers with what was
 * recorded first. Events: CostRecorded, or none. Errors: not_found and permission_denied (the session, under `field`).
 */
export async function recordSpending(ctx: ToolContext, spending: Spending, field: string): Promise<Recorded> {
  const { session_id, key, tokens } = spending;
  if (ctx.caller.type !== 'system' && ctx.scope.session_id !== session_id) {
    throw permissionDenied(field, 'is not your session', 'report what your own session spent', { reason: 'forbidden' });
  }
  const session = await findSession(ctx, ownership, session_id);
  if (session === undefined) throw notFound(field, 'names no session', 'open one with: cortex session open');
  const priced = priceOf(ctx, spending, session);
  const isEmpty = !priced.cost_usd && Object.values(tokens).every((count) => count === 0);
  if (priced.source === 'estimate' && isEmpty) return { recorded: false, cost_usd: null };
  const entry: CostEvent['data'] = {
    entry_id: ctx.newId('cost'),
    timestamp: earlier(spending.timestamp, ctx.now()),
    project: spending.project ?? session.project,
    trigger: spending.trigger ?? session.trigger,
    cost_usd: priced.cost_usd,
    num_turns: spending.num_turns ?? null,
    duration_s: spending.duration_s ?? null,
    backend: spending.backend ?? session.backend,
    mode: spending.mode ?? 'api',
    source: priced.source,
    ...tokens,
    provider: priced.provider,
    model: priced.model,
    session_id,
    owner_session_id: session.parent_session_id,
    execution_id: spending.execution_id ?? session.execution_id,
  };
  const id = costId(session_id, key);
  const options = { workspace: session.workspace === NO_WORKSPACE ? null : session.workspace };
  const { seq, events } = await ctx.execute(cost, id, { type: 'RecordCost', entry }, options);
  if (events.length > 0) {
    const name = entry.model === null ? undefined : ctx.get(Prices).nameOf(entry.provider, entry.model);
    ctx.get(BillingMetrics).recorded(entry, name, options.workspace !== null);
  }
  // Of two at once one has lost, and says so.
  const { state } = await ctx.load(cost, id, options);
  if (state.status === 'none') throw new Error(`cost ${id} is gone from the log`);
  const recorded = state.entry_id === entry.entry_id;
  const warnings = [...(recorded ? priced.warnings : []), ...(await budgetNotes(ctx, entry.project, seq))];
  return { recorded, cost_usd: state.cost_usd, ...(warnings.length > 0 && { warnings }) };
}

/** A clock that is ahead must not put spending into a day that has not begun. */
const earlier = (timestamp: string | undefined, now: string): string =>
  timestamp === undefined ? now : new Date(Math.min(Date.parse(timestamp), Date.parse(now))).toISOString();

interface Priced {
  provider: string | null;
  model: string | null;
  cost_usd: number | null;
  source: CostSource;
  warnings: string[];
}

/** What a provider reported stands; of an estimate the cost is derived where it does not come along. */
function priceOf(
  ctx: ToolContext,
  { tokens, ...spending }: Spending,
  session: { provider: string | null; model: string | null },
): Priced {
  const model = spending.model ?? session.model;
  // The session's provider is that of the session's own model.
  const provider = spending.provider ?? (model === session.model ? session.provider : null);
  const told = spending.cost_usd ?? null;
  const source = spending.source ?? (told === null ? 'estimate' : 'gateway');
  const facts = { provider, model, source };
  if (told !== null || source === 'gateway' || model === null) {
    return { ...facts, cost_usd: told === null ? null : roundUsd(told), warnings: [] };
  }
  const price = ctx.get(Prices).of(provider, model);
  if (price !== undefined) return { ...facts, cost_usd: toUsd(costMicros(price, tokens)), warnings: [] };
  const name = provider === null ? model : `${provider}/${model}`;
  ctx.log.warn({ provider, model }, 'a model has no price; its cost is unknown');
  return {
    ...facts,
    cost_usd: null,
    warnings: [`model ${name} has no price, so its cost is unknown; add it to config/prices.json`],
  };
}
