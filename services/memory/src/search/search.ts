import type { Kysely } from 'kysely';
import type { MemoryDb } from '../projections/tables.js';
import { candidates, lexical, newest, type Scope } from './candidates.js';
import { biasesOf } from './intent.js';
import { aged, byScore, diverse, fused, repoFirst, type Ranked } from './rank.js';

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
const WEIGHTS = { fact: 0.25, temporal: 0.15 };

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
  const hits = await lexical(db, query, scope, MOST);
  const scores = new Map(hits.map(({ id, score }) => [id, score]));
  return byScore(await candidates(db, [...scores.keys()]), scores);
};

const semantic: Ranker = async (db, { query, scope }) => {
  const hits = await lexical(db, query, scope, VOICE);
  const scores = fused([{ weight: 1, ids: hits.map(({ id }) => id) }]);
  return byScore(await candidates(db, [...scores.keys()]), scores);
};

const hybrid: Ranker = async (db, { query, scope }) => {
  const [hits, recent] = await Promise.all([lexical(db, query, scope, VOICE), newest(db, scope, VOICE)]);
  const biases = biasesOf(query);
  const scores = fused([
    { weight: WEIGHTS.fact * biases.fact, ids: hits.map(({ id }) => id) },
    { weight: WEIGHTS.temporal * biases.temporal, ids: recent },
  ]);
  const facts = await candidates(db, [...scores.keys()]);
  for (const [id, fact] of facts) scores.set(id, aged(scores.get(id)!, fact, scope.now));
  return diverse(byScore(facts, scores), MOST);
};

const RANKERS: Readonly<Record<SearchMode, Ranker>> = { keyword, semantic, hybrid };
