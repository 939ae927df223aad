import { BILLING_MODES, COST_SOURCES } from '@cortex/contracts/cost';
import { text } from '@cortex/service-kit';
import { z } from 'zod';

/** More than any model has read in a run; what is above it is a fault of whoever counts. */
const MOST_TOKENS = 1_000_000_000_000;
const MOST_USD = 1_000_000;
/** Limits are far above any record. */
const MOST_LIMIT_USD = 1_000_000_000;

export const Tokens = z.number().int().min(0).max(MOST_TOKENS);

export const Name = text({ max: 200, blank: false });
export const Key = text({ max: 500, blank: false });

/** A limit in US dollars. */
export const LimitUsd = z.number().positive().max(MOST_LIMIT_USD);

/** What both commands say of spending. */
export const spendingFields = {
  provider: Name.nullish(),
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_read_tokens: Tokens.nullish().transform((count) => count ?? 0),
  cache_creation_tokens: Tokens.nullish().transform((count) => count ?? 0),
  cost_usd: z.number().min(0).max(MOST_USD).nullish(),
  num_turns: z.number().int().min(0).max(1_000_000).nullish(),
  duration_s: z.number().min(0).max(31_536_000).nullish(),
  mode: z.enum(BILLING_MODES).nullish(),
  source: z.enum(COST_SOURCES).nullish(),
};
