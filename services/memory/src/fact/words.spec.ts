import { expect, it } from '@jest/globals';
import { folded, jaccard, wordSet } from './words.js';

const alike = (a: string, b: string): number => jaccard(wordSet(a), wordSet(b));

it('measures the words that two texts share', () => {
  expect(alike('deploy target is prod', 'deploy target is staging')).toBe(0.6);
  expect(alike('Deploy target: "prod".', 'deploy target prod')).toBe(1);
  expect(alike('', 'deploy')).toBe(0);
  expect(alike('... !!', '?!')).toBe(0);
});

it('folds topics that read the same into one', () => {
  expect(folded('  Session\u00a0 token\n TTL ')).toBe('session token ttl');
});
