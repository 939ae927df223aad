import { Id } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { recordSpending } from '../cost/spending.js';
import { Key, Name, spendingFields } from './fields.js';

/**
 * Spending of a run of a session, sent by the service that runs it. Idempotent by session and `key`.
 * Answers `{recorded, cost_usd, warnings?}`.
 */
export const recordCost = defineCommand({
  name: 'record_cost',
  input: z.object({
    session_id: Id,
    key: Key,
    timestamp: z.iso.datetime().optional(),
    project: Name.optional(),
    trigger: Name.nullish(),
    execution_id: Id.nullish(),
    backend: Name.nullish(),
    model: Name.nullish(),
    ...spendingFields,
  }),
  handle({ input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, ...record }, ctx) {
    const tokens = { input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens };
    return recordSpending(ctx, { tokens, ...record }, 'session_id');
  },
});
