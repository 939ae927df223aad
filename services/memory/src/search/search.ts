import type { Kysely } from 'kysely';
import type { MemoryDb } from '../projections/tables.js';
import { candidates, lexical, neighbours, newest, type Scope } from './candidates.js';
import { biasesOf } from './intent.js';
import { aged, byScore, diverse, fused, repoFirst, type Ranked } from './rank.js';
import { tokens } from './tokens.js';

export const SEARCH_MODES = ['keyword', 'semantic', 'hybrid'] as const;
export type SearchMode = (typeof SEARCH_MODES)[number];

export interface Search {
  query: string;
  mode: SearchMode;
  scope: Scope;
  /** Slug of the repository whose facts come first. */
  repo: string | null;
  limit: number;
}

export interface Found {
  facts: readonly Ranked[];
  /** Voices that the mode asks for and that could not run. */
  degraded: string[];
}

/** So many of each voice are heard. */
const VOICE = 30;
/** More are never ranked: what is behind them is not looked at. */
const MOST = 50;
const WEIGHTS = { graph: 0.25, fact: 0.25, temporal: 0.15 };
/** From so many facts the walk over links begins. */
const STARTS = 3;
/** A fact may have any number of links to it; the heaviest are followed. */
const MOST_LINKS = 200;

/** Finds active facts by the words of a query. By meaning it cannot yet, and says so. */
export async function searchFacts(db: Kysely<MemoryDb>, search: Search): Promise<Found> {
  const { mode, repo, limit } = search;
  const ranked = await RANKERS[mode](db, search);
  return {
    facts: repoFirst(ranked, repo).slice(0, limit),
    degraded: mode === 'keyword' ? [] : ['vector'],
  };
}

type Ranker = (db: Kysely<MemoryDb>, search: Search) => Promise<readonly Ranked[]>;

const keyword: Ranker = async (db, { query, scope }) => {
  const hits = await lexical(db, termsOf(query), scope, MOST);
  const scores = new Map(hits.map(({ id, score }) => [id, score]));
  return byScore(await candidates(db, [...scores.keys()], scope), scores);
};

const semantic: Ranker = async (db, { query, scope }) => {
  const hits = await lexical(db, termsOf(query), scope, VOICE);
  const scores = fused([{ weight: 1, ids: hits.map(({ id }) => id) }]);
  return byScore(await candidates(db, [...scores.keys()], scope), scores);
};

const hybrid: Ranker = async (db, { query, scope }) => {
  const [hits, recent] = await Promise.all([lexical(db, termsOf(query), scope, VOICE), newest(db, scope, VOICE)]);
  const found = hits.map(({ id }) => id);
  const linked = await walk(db, found.slice(0, STARTS), scope);
  const biases = biasesOf(query);
  const scores = fused([
    { weight: WEIGHTS.graph, ids: linked },
    { weight: WEIGHTS.fact * biases.fact, ids: found },
    { weight: WEIGHTS.temporal * biases.temporal, ids: recent },
  ]);
  const facts = await candidates(db, [...scores.keys()], scope);
  for (const [id, fact] of facts) scores.set(id, aged(scores.get(id)!, fact, scope.now));
  return diverse(byScore(facts, scores), MOST);
};

const RANKERS: Readonly<Record<SearchMode, Ranker>> = { keyword, semantic, hybrid };

const termsOf = (query: string): string[] => [...new Set(tokens(query))];

/** What is at most two links away, nearer ones first, then by the product of the links' weights, then by id. */
async function walk(db: Kysely<MemoryDb>, starts: readonly string[], scope: Scope): Promise<string[]> {
  const seen = new Set(starts);
  const reached: string[] = [];
  let edge = new Map(starts.map((id) => [id, 1]));
  for (let hop = 0; hop < 2; hop++) {
    const next = new Map<string, number>();
    for (const { from, id, weight } of await neighbours(db, [...edge.keys()], scope, MOST_LINKS)) {
      if (!seen.has(id)) next.set(id, Math.max(next.get(id) ?? 0, weight * (edge.get(from) ?? 0)));
    }
    const sorted = [...next].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([id]) => id);
    for (const id of sorted) seen.add(id);
    reached.push(...sorted);
    edge = next;
  }
  return reached.slice(0, VOICE);
}
