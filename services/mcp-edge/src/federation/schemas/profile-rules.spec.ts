import { describe, expect, it } from '@jest/globals';
import { config } from '../../config.js';
import { parseProfileRules, profileFor } from './profile-rules.js';

const rules = (text: string) => ({ fallback: 'strip', rules: parseProfileRules(text) });

describe('a rule', () => {
  it.each([
    ['claude*', 'claude-code', true],
    ['claude*', 'my claude', false],
    ['*inspector', 'mcp-Inspector', true],
    ['a.c', 'abc', false],
    ['a=b', 'a=b', true],
    ['(x|y)', 'x', false],
  ])('for %s and a client called %s: %s', (pattern, client, fits) =>
    expect(profileFor(rules(`${pattern}=basic`), undefined, client)).toBe(fits ? 'basic' : 'strip'),
  );
  it('comes before one that stands behind it, and behind what is asked for', () => {
    const both = rules('a*=flat; ab=inline');
    expect(profileFor(both, undefined, 'ab')).toBe('flat');
    expect(profileFor(both, 'draft-07', 'ab')).toBe('draft-07');
    expect(profileFor(both, undefined, undefined)).toBe('strip');
  });
  it.each(['basic', '=basic', 'claude=simple', 'claude='])('is none: %s', (text) =>
    expect(() => parseProfileRules(text)).toThrow(text),
  );
});

it('an unknown profile keeps the edge from starting, with its name', () => {
  const env = { OAUTH_ISSUER: 'http://127.0.0.1:1' };
  expect(config.parse(env)).toMatchObject({
    CORTEX_SCHEMA_PROFILE: 'original',
    CORTEX_VALIDATE_RESULTS: 'warn',
    CORTEX_VALIDATE_ARGUMENTS: false,
  });
  expect(config.parse({ ...env, CORTEX_SCHEMA_PROFILE: 'strip,INLINE' })).toMatchObject({
    CORTEX_SCHEMA_PROFILE: 'inline,strip',
  });
  for (const bad of [{ CORTEX_SCHEMA_PROFILE: 'simple' }, { CORTEX_SCHEMA_PROFILE_RULES: 'x' }])
    expect(config.safeParse({ ...env, ...bad }).error?.issues[0]).toMatchObject({ path: Object.keys(bad) });
});
