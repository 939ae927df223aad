import { expect, it } from '@jest/globals';
import { PriceTable } from '../prices/price-table.js';
import { parseConfig } from './config-file.js';

const problem = (text: string): string => {
  const parsed = parseConfig(text, PriceTable);
  return 'problem' in parsed ? parsed.problem : 'none';
};

it('names field and line of every fault', () => {
  const text = `{
  "anthropic": { "a": { "input": 1, "output": 2 } },
  "own": {
    "a": { "input": -1, "output": 2 },
    "b": {
      "input": 1,
      "output": "free"
    }
  }
}`;
  expect(problem(text)).toBe(
    'own.a.input (line 4): must not be negative; own.b.output (line 7): Invalid input: expected number, received string',
  );
});

it('names the line of what is no JSON', () => {
  expect(problem('{\n  "own": {\n    "a": { "input": 1, }\n  }\n}')).toMatch(/line 3/);
});

it('names the line of the object where a field is missing or unknown', () => {
  expect(problem('{\n "own": {\n  "a": { "input": 1 }\n } }')).toMatch(/^own\.a\.output \(line 3\): /);
  expect(problem('{\n "own": {\n  "a": { "input": 1, "output": 1, "cached": 1 }\n } }')).toMatch(
    /^own\.a \(line 3\): .*cached/,
  );
  expect(problem('[]')).toMatch(/^the file \(line 1\): /);
});
