import { expect, it } from '@jest/globals';
import { retentionDays } from './retention.js';

it.each([
  ['90', 90],
  [' 1 ', 1],
  ['36500', 36_500],
  [undefined, 365],
  ['', 365],
  ['0', 365],
  ['-5', 365],
  ['1.5', 365],
  ['36501', 365],
  ['for ever', 365],
])('a retention of %j is %d days', (text, days) => expect(retentionDays(text)).toBe(days));
