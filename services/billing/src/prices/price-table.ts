import { z } from 'zod';

/** US dollars per million tokens, at most six decimals. */
const Price = z.number().min(0, 'must not be negative').max(1_000_000, 'must be at most 1,000,000');

const ModelPrice = z.strictObject({
  input: Price,
  output: Price,
  /** Of tokens read from the model's cache; left out: as input. */
  cache_read: Price.optional(),
  /** Of tokens written into it; left out: as input. */
  cache_creation: Price.optional(),
});
export type ModelPrice = z.output<typeof ModelPrice>;

/** By provider and beginning of the model's name. */
export const PriceTable = z.record(z.string().min(1), z.record(z.string().min(1), ModelPrice));
export type PriceTable = z.output<typeof PriceTable>;

export interface Tokens {
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_creation_tokens: number;
}

/** The second added to the first, winning where both have a name. */
export function merged(base: PriceTable, over: PriceTable): PriceTable {
  const providers = [...new Set([...Object.keys(base), ...Object.keys(over)])];
  return Object.fromEntries(providers.map((provider) => [provider, { ...base[provider], ...over[provider] }]));
}

/** A beginning that ends in a digit fits where the number ends: `gpt-5` is no beginning of `gpt-5.9` or `gpt-50`. */
const begins = (name: string, prefix: string): boolean =>
  name.startsWith(prefix) && !(/\d$/.test(prefix) && /^\.?\d/.test(name.slice(prefix.length)));

/**
 * The price of the longest beginning of the model's name, without regard to case. A provider that is not told may stand
 * before the name (`openai/gpt-4.1`), else every provider is looked through. Undefined where none fits.
 */
export const priceOf = (table: PriceTable, provider: string | null, model: string): ModelPrice | undefined =>
  entryOf(table, provider, model)?.[1];

/** The same with the beginning that fits, as it stands in the table. */
export function entryOf(
  table: PriceTable,
  provider: string | null,
  model: string,
): [name: string, price: ModelPrice] | undefined {
  const name = model.toLowerCase();
  const slash = name.indexOf('/');
  if (provider === null && slash > 0) {
    const known = entryOf(table, name.slice(0, slash), name.slice(slash + 1));
    if (known) return known;
  }
  const wanted = provider?.toLowerCase();
  const lists = Object.entries(table).filter(([key]) => wanted === undefined || key.toLowerCase() === wanted);
  const fitting = lists.flatMap(([, models]) =>
    Object.entries(models).filter(([prefix]) => begins(name, prefix.toLowerCase())),
  );
  return fitting.toSorted(([a], [b]) => b.length - a.length)[0];
}

const MILLION = 1_000_000n;

/** What the tokens cost in whole micro-dollars, half rounded up. Dollars per million are micro-dollars per token. */
export function costMicros(price: ModelPrice, tokens: Tokens): number {
  const { input, output, cache_read = input, cache_creation = input } = price;
  const parts = [
    [input, tokens.input_tokens],
    [output, tokens.output_tokens],
    [cache_read, tokens.cache_read_tokens],
    [cache_creation, tokens.cache_creation_tokens],
  ] as const;
  // In millionths and as integers: 0.1 + 0.2 would not come out, and a product may pass 2^53.
  const sum = parts.reduce((total, [dollars, count]) => total + BigInt(Math.round(dollars * 1e6)) * BigInt(count), 0n);
  return Number((sum + MILLION / 2n) / MILLION);
}
