import { freshness } from '../fact/memory-types.js';
import { jaccard, wordSet } from '../fact/words.js';
import type { Candidate } from './candidates.js';

/** One opinion on what fits, best first. */
export interface Voice {
  weight: number;
  ids: readonly string[];
}

export interface Ranked {
  fact: Candidate;
  score: number;
}

/** How slowly a rank loses worth: with 60 the first of a list counts about twice as much as the sixtieth. */
const RANK_OFFSET = 60;

/** Reciprocal rank fusion, `Σ weight / (60 + rank)` with rank from 1. */
export function fused(voices: readonly Voice[]): Map<string, number> {
  const scores = new Map<string, number>();
  for (const { weight, ids } of voices) {
    for (const [rank, id] of ids.entries()) {
      scores.set(id, (scores.get(id) ?? 0) + weight / (RANK_OFFSET + rank + 1));
    }
  }
  return scores;
}

/** Best first; of equals the newer, and then by id. */
export function byScore(facts: ReadonlyMap<string, Candidate>, scores: ReadonlyMap<string, number>): Ranked[] {
  const ranked = [...scores].flatMap(([id, score]) => {
    const fact = facts.get(id);
    return fact ? [{ fact, score }] : [];
  });
  return ranked.sort((a, b) => b.score - a.score || b.fact.place - a.fact.place || (a.fact.id < b.fact.id ? -1 : 1));
}

const HOUR_MS = 3_600_000;

/** A score as it counts at a time: what is old or unsure counts less. */
export function aged(score: number, { memory_type, created_at, confidence }: Candidate, now: string): number {
  const hours = (Date.parse(now) - created_at.getTime()) / HOUR_MS;
  return score * freshness(memory_type, hours) * (0.8 + 0.2 * confidence);
}

const RELEVANCE = 0.7;

/**
 * Maximal marginal relevance: each next one is the best of those that are left, less for what it repeats of those picked
 * already. Scores are first divided by the best one, since they are too small beside a likeness of 0 to 1.
 */
export function diverse(ranked: readonly Ranked[], most: number): Ranked[] {
  const best = ranked[0]?.score ?? 0;
  if (best === 0) return ranked.slice(0, most);
  const left = ranked.map((one) => ({
    one,
    relevance: (RELEVANCE * one.score) / best,
    words: wordSet(`${one.fact.topic} ${one.fact.content}`),
    repeats: 0,
  }));
  const picked: Ranked[] = [];
  while (picked.length < most && left.length > 0) {
    let at = 0;
    for (let i = 1; i < left.length; i++) if (worth(left[i]!) > worth(left[at]!)) at = i;
    const [next] = left.splice(at, 1);
    picked.push(next!.one);
    for (const other of left) other.repeats = Math.max(other.repeats, jaccard(other.words, next!.words));
  }
  return picked;
}

const worth = ({ relevance, repeats }: { relevance: number; repeats: number }): number =>
  relevance - (1 - RELEVANCE) * repeats;

/** Those of one repository in front, each group in the order that it had. */
export const repoFirst = (ranked: readonly Ranked[], repo: string | null): readonly Ranked[] => {
  if (repo === null) return ranked;
  const prefix = `repo:${repo}/`;
  const own = ranked.filter(({ fact }) => fact.domain.startsWith(prefix));
  return [...own, ...ranked.filter(({ fact }) => !fact.domain.startsWith(prefix))];
};
