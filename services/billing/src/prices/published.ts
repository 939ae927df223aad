import type { PriceTable } from './price-table.js';

/** A model that is asked to write into its cache pays a quarter more than for input, and a tenth to read from it. */
const anthropic = (input: number, output: number) => ({
  input,
  output,
  cache_read: input / 10,
  cache_creation: input * 1.25,
});

const cached = (input: number, output: number, cache_read: number) => ({ input, output, cache_read });

/**
 * Published list prices, US dollars per million tokens, by provider and beginning of the model's name. A name says its
 * version as far as versions differ in price: what comes later is to be unknown, not wrong.
 */
export const PUBLISHED: PriceTable = {
  anthropic: {
    'claude-opus-4-8': anthropic(5, 25),
    'claude-opus-4-7': anthropic(5, 25),
    'claude-opus-4-6': anthropic(5, 25),
    'claude-opus-4-5': anthropic(5, 25),
    'claude-opus-4-1': anthropic(15, 75),
    'claude-opus-4-0': anthropic(15, 75),
    'claude-opus-4-20250514': anthropic(15, 75),
    'claude-3-opus': anthropic(15, 75),
    'claude-sonnet-4-6': anthropic(3, 15),
    'claude-sonnet-4-5': anthropic(3, 15),
    'claude-sonnet-4-0': anthropic(3, 15),
    'claude-sonnet-4-20250514': anthropic(3, 15),
    'claude-3-7-sonnet': anthropic(3, 15),
    'claude-3-5-sonnet': anthropic(3, 15),
    'claude-haiku-4-5': anthropic(1, 5),
    'claude-3-5-haiku': anthropic(0.8, 4),
    'claude-3-haiku': { input: 0.25, output: 1.25, cache_read: 0.03, cache_creation: 0.3 },
  },
  openai: {
    'gpt-5.4': cached(2.5, 15, 0.25),
    'gpt-5.4-mini': cached(0.75, 4.5, 0.075),
    'gpt-5.4-nano': cached(0.2, 1.25, 0.02),
    'gpt-5.4-pro': { input: 30, output: 180 },
    'gpt-5.2': cached(1.75, 14, 0.175),
    'gpt-5.2-pro': { input: 21, output: 168 },
    'gpt-5.1': cached(1.25, 10, 0.125),
    'gpt-5': cached(1.25, 10, 0.125),
    'gpt-5-mini': cached(0.25, 2, 0.025),
    'gpt-5-nano': cached(0.05, 0.4, 0.005),
    'gpt-5-pro': { input: 15, output: 120 },
    'gpt-4.1': cached(2, 8, 0.5),
    'gpt-4.1-mini': cached(0.4, 1.6, 0.1),
    'gpt-4.1-nano': cached(0.1, 0.4, 0.025),
    'gpt-4o': cached(2.5, 10, 1.25),
    'gpt-4o-mini': cached(0.15, 0.6, 0.075),
    'o4-mini': cached(1.1, 4.4, 0.275),
    o3: cached(2, 8, 0.5),
    'o3-mini': cached(1.1, 4.4, 0.55),
    'o3-pro': { input: 20, output: 80 },
  },
  google: {
    'gemini-2.5-pro': cached(1.25, 10, 0.125),
    'gemini-2.5-flash': cached(0.3, 2.5, 0.03),
    'gemini-2.5-flash-lite': cached(0.1, 0.4, 0.01),
  },
};
