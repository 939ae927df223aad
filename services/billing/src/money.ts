/** Money is summed in whole micro-dollars, so that a thousand small amounts add up to what they are. */
const MICROS = 1_000_000;

/** US dollars to whole micro-dollars. */
export const toMicros = (usd: number): number => Math.round(usd * MICROS);

/** Micro-dollars, also as PostgreSQL gives a sum, to US dollars with at most six decimals. */
export const toUsd = (micros: number | string): number => Math.round(Number(micros)) / MICROS;

/** US dollars with six decimals. */
export const roundUsd = (usd: number): number => toUsd(toMicros(usd));
