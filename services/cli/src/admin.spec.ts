import type { Secrets } from '@cortex/service-kit';
import { describe, expect, it } from '@jest/globals';
import { adminUrl } from './admin.js';

const secrets = { database: { admin: { user: 'postgres', password: 'of the home' } } } as unknown as Secrets;
const state = { database_url: 'postgres://127.0.0.1:5432/cortex' };

describe('who changes roles and tables', () => {
  it.each([
    ['the home’s own server', {}, 'postgres://postgres:of%20the%20home@127.0.0.1:5432/cortex'],
    [
      'a server elsewhere, with the passwords of the home',
      { CORTEX_DATABASE_URL: 'postgres://db:5432/cortex' },
      'postgres://postgres:of%20the%20home@db:5432/cortex',
    ],
    [
      'a server elsewhere, with credentials of its own',
      { CORTEX_DATABASE_URL: 'postgres://me:mine@db:5432/cortex' },
      'postgres://me:mine@db:5432/cortex',
    ],
  ])('is known for %s', (_, env, url) => {
    expect(adminUrl(state, secrets, env)).toBe(url);
  });
});
