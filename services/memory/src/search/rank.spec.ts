import { describe, expect, it } from '@jest/globals';
import type { Candidate } from './candidates.js';
import { aged, byScore, diverse, fused, repoFirst } from './rank.js';

const candidate = (id: string, place: number, more: Partial<Candidate> = {}): Candidate => ({
  id,
  domain: 'auth',
  topic: id,
  content: `content of ${id}`,
  memory_type: 'fact',
  confidence: 1,
  place,
  created_at: new Date('2026-01-05T10:00:00.000Z'),
  ...more,
});
const mapOf = (...facts: Candidate[]) => new Map(facts.map((fact) => [fact.id, fact]));
const idsOf = (ranked: readonly { fact: Candidate }[]) => ranked.map(({ fact }) => fact.id);

it('adds up what each voice gives by rank', () => {
  const scores = fused([
    { weight: 1, ids: ['a', 'b'] },
    { weight: 0.5, ids: ['b'] },
  ]);
  expect(scores).toEqual(
    new Map([
      ['a', 1 / 61],
      ['b', 1 / 62 + 0.5 / 61],
    ]),
  );
});

it('puts the better first, of equals the newer, and leaves out what is no candidate', () => {
  const facts = mapOf(candidate('a', 1), candidate('b', 2), candidate('c', 3));
  const scores = new Map([
    ['a', 1],
    ['b', 1],
    ['c', 2],
    ['gone', 9],
  ]);
  expect(idsOf(byScore(facts, scores))).toEqual(['c', 'b', 'a']);
});

describe('a score as it counts at a time', () => {
  const now = '2026-01-05T10:00:00.000Z';
  it('is whole for what is new and sure', () => expect(aged(0.5, candidate('a', 1), now)).toBe(0.5));
  it('takes a time in the future for now', () =>
    expect(aged(0.5, candidate('a', 1, { created_at: new Date('2027-01-01') }), now)).toBe(0.5));
  it('is less for what is old or unsure', () => {
    expect(aged(1, candidate('a', 1, { confidence: 0 }), now)).toBe(0.8);
    const old = candidate('a', 1, { memory_type: 'decision', created_at: new Date('2025-12-22T10:00:00.000Z') });
    expect(aged(1, old, now)).toBeCloseTo(0.02 + 0.98 / Math.E, 12);
  });
});

describe('diversity', () => {
  it('puts a weaker fact that says something new before one that repeats the best', () => {
    const ranked = [
      { fact: candidate('a', 3, { topic: 'x', content: 'deploy target is prod' }), score: 1 },
      { fact: candidate('b', 2, { topic: 'x', content: 'deploy target is prod now' }), score: 0.9 },
      { fact: candidate('c', 1, { topic: 'y', content: 'tokens rotate weekly' }), score: 0.7 },
    ];
    expect(idsOf(diverse(ranked, 3))).toEqual(['a', 'c', 'b']);
    expect(idsOf(diverse(ranked, 2))).toEqual(['a', 'c']);
  });
  it('has nothing to do with no facts, or with scores that are all nothing', () => {
    expect(diverse([], 5)).toEqual([]);
    const flat = [candidate('a', 1), candidate('b', 2)].map((fact) => ({ fact, score: 0 }));
    expect(diverse(flat, 1)).toEqual([flat[0]]);
  });
});

it('moves the facts of a repository to the front, and none of one whose name begins alike', () => {
  const ranked = [
    { fact: candidate('a', 4), score: 4 },
    { fact: candidate('b', 3, { domain: 'repo:acme-api-2/auth' }), score: 3 },
    { fact: candidate('c', 2, { domain: 'repo:acme-api/auth' }), score: 2 },
  ];
  expect(idsOf(repoFirst(ranked, 'acme-api'))).toEqual(['c', 'a', 'b']);
  expect(repoFirst(ranked, null)).toBe(ranked);
});
