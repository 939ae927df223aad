import { hashedToken, invalidArgument } from '@cortex/contracts';

/** A domain's full slug taken apart. */
export interface DomainSlug {
  /** `auth-flow`, or `repo:acme-api/auth-flow` for one repository. */
  domain: string;
  /** Without the scope; grants, labels and system domains go by it. */
  domain_name: string;
  /** Scope slug of the repository; null for the whole workspace. */
  repo: string | null;
}

const MOST = 64;

/** Lower case, `a-z 0-9 -` alone; empty where nothing of the text is left. */
export const slugify = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9\s_-]/g, '')
    .replace(/[\s_-]+/g, '-')
    .replace(/^-|-$/g, '');

/** The scope slug of a repository; a name without a letter of `a-z` is hashed. */
export const repoSlug = (full_name: string): string =>
  slugify(full_name.replaceAll('/', '-')) || hashedToken(full_name);

/** The slug of a domain named by a caller. Errors: `invalid_argument` (domain). */
export function domainSlug(name: string, repo: string | null): DomainSlug {
  const domain_name = slugify(name);
  if (domain_name === '') {
    throw invalidArgument('domain', 'has no letter or digit of a-z 0-9', 'name it in these, such as auth-flow');
  }
  if (domain_name.length > MOST) {
    throw invalidArgument('domain', `has more than ${MOST} characters as a slug`, 'shorten it', {
      reason: 'too_large',
      details: { limit: MOST, actual: domain_name.length },
    });
  }
  return { domain: repo === null ? domain_name : `repo:${repo}/${domain_name}`, domain_name, repo };
}

/** A stored slug taken apart; one that is no `repo:<scope>/<name>` is its own name. */
export function parseDomain(domain: string): DomainSlug {
  const slash = domain.indexOf('/');
  const scoped = domain.startsWith('repo:') && slash > 'repo:'.length && slash < domain.length - 1;
  return scoped
    ? { domain, domain_name: domain.slice(slash + 1), repo: domain.slice('repo:'.length, slash) }
    : { domain, domain_name: domain, repo: null };
}
