import { describe, expect, it } from '@jest/globals';
import { costMicros, merged, priceOf, PriceTable } from './price-table.js';
import { PUBLISHED } from './published.js';

const none = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_creation_tokens: 0 };

describe('a price', () => {
  it('is that of the longest beginning of the name', () => {
    expect(priceOf(PUBLISHED, 'openai', 'gpt-4o-mini-2024-07-18')?.input).toBe(0.15);
    expect(priceOf(PUBLISHED, 'openai', 'gpt-4o-2024-08-06')?.input).toBe(2.5);
    expect(priceOf(PUBLISHED, 'anthropic', 'claude-opus-4-5-20251101')?.output).toBe(25);
    expect(priceOf(PUBLISHED, 'anthropic', 'claude-opus-4-20250514')?.output).toBe(75);
  });

  it('is found whatever the case of the name', () => {
    expect(priceOf(PUBLISHED, 'Anthropic', 'Claude-Haiku-4-5')?.input).toBe(1);
  });

  it('is looked for with every provider when none is told, and with the one before the slash first', () => {
    expect(priceOf(PUBLISHED, null, 'gemini-2.5-flash')?.output).toBe(2.5);
    expect(priceOf(PUBLISHED, null, 'openai/gpt-4.1')?.output).toBe(8);
  });

  it('is unknown for another model, another provider and an empty name', () => {
    expect(priceOf(PUBLISHED, 'anthropic', 'claude-9')).toBeUndefined();
    expect(priceOf(PUBLISHED, 'reseller', 'claude-sonnet-4-5')).toBeUndefined();
    expect(priceOf(PUBLISHED, null, '')).toBeUndefined();
    expect(priceOf(PUBLISHED, null, '/')).toBeUndefined();
  });

  it('is not made up for a later version that may cost something else', () => {
    expect(priceOf(PUBLISHED, 'anthropic', 'claude-opus-4-9')).toBeUndefined();
    expect(priceOf(PUBLISHED, 'anthropic', 'claude-opus-4-10')).toBeUndefined();
    expect(priceOf(PUBLISHED, 'openai', 'gpt-5.9')).toBeUndefined();
    expect(priceOf(PUBLISHED, 'openai', 'gpt-50')).toBeUndefined();
    expect(priceOf(PUBLISHED, 'openai', 'gpt-5-2025-08-07')?.output).toBe(10);
    expect(priceOf(PUBLISHED, 'openai', 'gpt-5')?.output).toBe(10);
  });

  it('of a table over another one wins name by name', () => {
    const table = merged(PUBLISHED, { openai: { o3: { input: 9, output: 9 } }, own: { m: { input: 1, output: 2 } } });
    expect(priceOf(table, 'openai', 'o3')?.input).toBe(9);
    expect(priceOf(table, 'openai', 'gpt-4o')?.input).toBe(2.5);
    expect(priceOf(table, null, 'm-1')?.output).toBe(2);
  });

  it('published is one that the file may hold, too', () => expect(PriceTable.parse(PUBLISHED)).toEqual(PUBLISHED));
});

describe('a cost', () => {
  it('is exact to the micro-dollar, half rounded up', () => {
    const price = { input: 0.1, output: 0.3 };
    expect(costMicros(price, { ...none, input_tokens: 5 })).toBe(1);
    expect(costMicros(price, { ...none, input_tokens: 4 })).toBe(0);
    expect(costMicros(price, { ...none, input_tokens: 10, output_tokens: 10 })).toBe(4);
  });

  it('of cached tokens without a price of their own is that of input', () => {
    expect(costMicros({ input: 2, output: 1 }, { ...none, cache_read_tokens: 3, cache_creation_tokens: 4 })).toBe(14);
  });

  it('stays exact where a product passes 2^53', () => {
    expect(costMicros({ input: 3.000001, output: 0 }, { ...none, input_tokens: 1_000_000_000_000 })).toBe(
      3_000_001_000_000,
    );
  });
});
