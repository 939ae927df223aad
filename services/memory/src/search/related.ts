import type { Kysely } from 'kysely';
import { jaccard } from '../fact/words.js';
import type { MemoryDb } from '../projections/tables.js';
import { candidates, lexical, rarest } from './candidates.js';
import { tokens } from './tokens.js';

export interface Related {
  id: string;
  /** 0 to 1. */
  weight: number;
}

const ENOUGH = 0.35;
const MOST_LINKS = 5;
/** So many facts are compared. They are looked for by the rarest words, which tell the most, in so many facts together. */
const COMPARED = 30;
const POSTINGS = 5_000;

/** The active facts that a new one is most related to, best first: by the words or by the names that they share. */
export async function relatedFacts(
  db: Kysely<MemoryDb>,
  fact: { topic: string; content: string },
  now: string,
): Promise<Related[]> {
  const text = textOf(fact);
  const asked = await rarest(db, [...longWords(text)], POSTINGS);
  const scope = { now, domains: null };
  const hits = await lexical(db, asked, scope, COMPARED);
  const found = await candidates(
    db,
    hits.map(({ id }) => id),
    scope,
  );
  return [...found.values()]
    .map((other) => ({ id: other.id, weight: relatedness(text, textOf(other)) }))
    .filter(({ weight }) => weight >= ENOUGH)
    .sort((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1))
    .slice(0, MOST_LINKS);
}

/** The larger of what two texts share of their longer words and of their capitalized names. */
export function relatedness(a: string, b: string): number {
  const [ours, theirs] = [namesIn(a), namesIn(b)];
  const shared = [...ours].filter((name) => theirs.has(name)).length;
  const names = shared === 0 ? 0 : shared / Math.max(ours.size, theirs.size);
  return Math.round(Math.max(jaccard(longWords(a), longWords(b)), names) * 1e6) / 1e6;
}

const textOf = ({ topic, content }: { topic: string; content: string }): string => `${topic}\n${content}`;

const longWords = (text: string): ReadonlySet<string> => new Set(tokens(text).filter((token) => token.length >= 3));

/** Words that begin with a capital; the one that begins a sentence says nothing, and is none. */
const namesIn = (text: string): ReadonlySet<string> =>
  new Set(text.match(/(?<!^|[.!?:]\s+|\n\s*|[\p{L}\p{N}])\p{Lu}[\p{L}\p{N}]+/gu) ?? []);
