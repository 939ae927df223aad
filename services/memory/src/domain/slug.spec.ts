import { describe, expect, it } from '@jest/globals';
import { domainSlug, parseDomain, repoSlug, slugify } from './slug.js';

describe('a domain slug', () => {
  it.each([
    ['Auth flow', 'auth-flow'],
    ['  CI_/_CD  pipeline ', 'ci-cd-pipeline'],
    ['__a--b__', 'a-b'],
    ['Größe: 10µ', 'gre-10'],
    ['數據', ''],
    ["'; drop table facts; --", 'drop-table-facts'],
  ])('of %j is %j', (name, slug) => expect(slugify(name)).toBe(slug));

  it('is qualified after it was made', () => {
    expect(domainSlug('Auth flow', 'acme-api')).toEqual({
      domain: 'repo:acme-api/auth-flow',
      domain_name: 'auth-flow',
      repo: 'acme-api',
    });
  });

  it('of nothing is refused', () =>
    expect(() => domainSlug(' 數據 !', null)).toThrow(
      'domain has no letter or digit of a-z 0-9; name it in these, such as auth-flow',
    ));

  it('has at most 64 characters, counted when it is made', () => {
    expect(domainSlug(`${'a'.repeat(64)}!!!`, null).domain_name).toHaveLength(64);
    expect(() => domainSlug('a'.repeat(65), null)).toThrow('domain has more than 64 characters as a slug');
  });

  it('cannot name a scope by itself', () => expect(domainSlug('repo:acme/x', null).domain).toBe('repoacmex'));
});

describe('a stored slug', () => {
  it.each([
    ['auth-flow', { domain_name: 'auth-flow', repo: null }],
    ['repo:acme-api/auth-flow', { domain_name: 'auth-flow', repo: 'acme-api' }],
    ['repo:acme/a/b', { domain_name: 'a/b', repo: 'acme' }],
    ['repo:acme', { domain_name: 'repo:acme', repo: null }],
    ['repo:/x', { domain_name: 'repo:/x', repo: null }],
  ])('%j is split at its first slash, and shown as it is when malformed', (domain, parts) =>
    expect(parseDomain(domain)).toEqual({ domain, ...parts }),
  );
});

it('makes a scope of a repository, whatever letters its name has', () => {
  expect(repoSlug('Acme/My_API')).toBe('acme-my-api');
  expect(repoSlug('倉庫')).toMatch(/^[0-9a-f]{32}$/);
});
