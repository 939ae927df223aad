import { defineCommand } from '@cortex/service-kit';
import { findSession } from '@cortex/service-kit/ownership';
import { execution } from '../execution/execution.decider.js';
import { startedOf } from '../execution/started.js';
import { ownership } from '../projections/ownership.js';
import { StartFields } from './fields.js';

/**
 * A run of an agent begins, in the workspace of its session. Idempotent by id, also after its end.
 * Events: ExecutionStarted, or none.
 */
export const startExecution = defineCommand({
  name: 'start_execution',
  input: StartFields,
  async handle(args, ctx) {
    const started = startedOf(args, await findSession(ctx, ownership, args.session_id), ctx.now());
    await ctx.execute(execution, args.execution_id, { type: 'StartExecution', started });
    return { execution_id: args.execution_id };
  },
});
