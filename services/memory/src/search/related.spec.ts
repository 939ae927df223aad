import { expect, it } from '@jest/globals';
import { relatedness } from './related.js';

it.each([
  ['sessions expire after thirty days', 'session tokens expire after thirty days', 0.833333],
  ['the owner is Team Platform', 'we asked Team Platform yesterday', 1],
  ['Deploys go out daily', 'Deploys were frozen', 0.25],
  ['an of the', 'an of the', 0],
  ['one thing', 'another matter', 0],
])('%j and %j are related by %d: long words, or names', (a, b, weight) => expect(relatedness(a, b)).toBe(weight));
