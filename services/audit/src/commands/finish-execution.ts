import { firstChars } from '@cortex/contracts/text';
import { defineCommand, text } from '@cortex/service-kit';
import { findSession } from '@cortex/service-kit/ownership';
import { z } from 'zod';
import { execution, type Ending } from '../execution/execution.decider.js';
import { startedOf } from '../execution/started.js';
import { ownership } from '../projections/ownership.js';
import { ExecutionId, KEPT_CHARS, Name, startFields } from './fields.js';

const MOST_CHARS = 1_000_000;
const Seconds = z.number().min(0).max(31_536_000);

/**
 * A run of an agent ended. Idempotent by id: the first end stands. One that comes before the start records both, the start
 * from what it brings of it and from the session. `final_output` keeps 2,000 characters.
 * Events: ExecutionCompleted, ExecutionFailed or ExecutionCancelled, perhaps after ExecutionStarted; or none.
 */
export const finishExecution = defineCommand({
  name: 'finish_execution',
  input: z.object({
    execution_id: ExecutionId,
    outcome: z.enum(['completed', 'failed', 'cancelled']),
    cost_usd: z.number().min(0).max(1_000_000).nullish(),
    num_turns: z.number().int().min(0).max(1_000_000).nullish(),
    duration_s: Seconds.default(0),
    final_output: text({ max: MOST_CHARS }).nullish(),
    error: text({ max: MOST_CHARS }).nullish(),
    by: Name.optional(),
    ...startFields,
  }),
  async handle(args, ctx) {
    const {
      execution_id,
      outcome,
      final_output = null,
      error,
      by,
      cost_usd = null,
      num_turns = null,
      duration_s,
    } = args;
    const kept = final_output === null ? null : firstChars(final_output, KEPT_CHARS);
    const figures = { execution_id, cost_usd, num_turns, duration_s, final_output: kept };
    const endings: Record<typeof outcome, Ending> = {
      completed: { outcome: 'completed', data: figures },
      failed: { outcome: 'failed', data: { ...figures, error: firstChars(error || 'unknown', KEPT_CHARS) } },
      cancelled: { outcome: 'cancelled', data: { execution_id, by: by ?? ctx.caller.id } },
    };
    const started = startedOf(args, await findSession(ctx, ownership, args.session_id), ctx.now());
    const command = { type: 'FinishExecution' as const, started, ending: endings[outcome] };
    await ctx.execute(execution, execution_id, command);
    return { execution_id };
  },
});
