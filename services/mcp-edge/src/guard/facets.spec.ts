import { describe, expect, it } from '@jest/globals';
import { constraintFits, facetsOf, globsFit, hostFits } from './facets.js';

describe('hosts', () => {
  it.each([
    ['example.com', 'example.com', true],
    ['example.com', 'EXAMPLE.com.', true],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'badexample.com', false],
    ['*.example.com', 'example.com', false],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['example.com', 'example.com.evil.org', false],
  ])('%s takes %s: %s', (pattern, host, fits) => expect(hostFits(pattern, host)).toBe(fits));
});

describe('paths are compared where they lead', () => {
  it.each([
    [['src/**'], 'src/a/b.ts', true],
    [['src/**'], 'src/../etc/passwd', false],
    [['src/*'], 'src/a/b', false],
    [['src/**', '!src/secret/**'], 'src/secret/key', false],
    [['src/**', '!src/secret/**'], 'src/./x//secret/../a', true],
    [['**/*.md'], 'a/b.md', true],
    [['**/*.md'], 'b.md', true],
    [['a.b'], 'aXb', false],
  ])('%j takes %s: %s', (patterns, path, fits) => expect(globsFit(patterns, path)).toBe(fits));
});

describe('a constraint', () => {
  it('does not fit when the call has no value for a facet that it names', () => {
    for (const constraint of [
      { paths: ['**'] },
      { hosts: ['*.x'] },
      { refs: ['*'] },
      { commands: ['ls'] },
      { max_count: 9 },
      { max_cents: 9 },
    ])
      expect(constraintFits(constraint, 't', {}, false)).toBe(false);
  });
  it('that loosens needs every value to fit, one that tightens any', () => {
    const facets = { paths: ['ok/a', 'bad/b'] };
    expect(constraintFits({ paths: ['ok/**'] }, 't', facets, true)).toBe(false);
    expect(constraintFits({ paths: ['bad/**'] }, 't', facets, false)).toBe(true);
  });
  it('that loosens by a command needs a plain one', () => {
    expect(constraintFits({ commands: ['ls'] }, 't', { command: 'ls -l' }, true)).toBe(true);
    expect(constraintFits({ commands: ['ls'] }, 't', { command: 'ls; rm x' }, true)).toBe(false);
    expect(constraintFits({ commands: ['rm'] }, 't', { command: 'ls; rm x' }, false)).toBe(true);
  });
});

it('facets come from the arguments that the specification names, and from no other', () => {
  expect(facetsOf('browser_use', { url: 'https://a.example/x', path: '/etc' })).toEqual({ hosts: ['a.example'] });
  expect(facetsOf('other', { url: 'https://a.example/x', path: '/etc' })).toEqual({});
  expect(facetsOf('install_skill', { path: 'skills/a' })).toEqual({ paths: ['skills/a'] });
  expect(facetsOf('x', { argv: ['rm', '-rf', 'x'] })).toEqual({ command: 'rm -rf x' });
  expect(facetsOf('x', { shell_command: 'ls', argv: ['rm'] })).toEqual({ command: 'ls' });
});
