import { Id } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { recordSpending } from '../cost/spending.js';
import { Key, Name, spendingFields } from './fields.js';

/**
 * Spending of a run that Cortex did not start, posted for one of its sessions. The same `key` of a session counts once.
 * Answers `{recorded, cost_usd, warnings?}`. Source: agent-server, section 18.
 */
export const recordUsage = defineCommand({
  name: 'record_usage',
  input: z.object({ sessionId: Id, key: Key, backend: Name, model: Name, ...spendingFields }),
  handle({ sessionId, input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, ...usage }, ctx) {
    const tokens = { input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens };
    return recordSpending(ctx, { session_id: sessionId, tokens, ...usage }, 'sessionId');
  },
});
