import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { SCOPES } from '@cortex/contracts/scopes';
import { tempDir } from '@cortex/testing/temp-dir';
import { EXIT } from './exit.js';
import { homeOf, type Home } from './home.js';
import { KNOWN_SCOPES } from './scopes.js';
import { ensureSecrets } from './secrets.js';
import { makeToken } from './token.js';

let home: Home;
beforeAll(async () => {
  home = homeOf(await tempDir('token'));
  mkdirSync(dirname(home.secrets), { recursive: true });
  await ensureSecrets(home);
});

const scopeOf = (token: string): unknown =>
  (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { scope: unknown }).scope;

it('takes scopes with blanks or commas between them', () => {
  expect(scopeOf(makeToken(home, {}, { scopes: 'mcp:cortex:read, mcp:cortex:devices:exec' }))).toBe(
    'mcp:cortex:read mcp:cortex:devices:exec',
  );
});

it('refuses a scope that is unknown, and names those that are known', () => {
  const make = () => makeToken(home, {}, { scopes: 'mcp:cortex:read nonsense' });
  expect(make).toThrow(/unknown: nonsense; use some of .*mcp:cortex:write/);
  expect(make).toThrow(expect.objectContaining({ exitCode: EXIT.usage }));
});

it('gives scopes of backends, which nobody here knows, and takes none for a slip in one of Cortex', () => {
  const granted = (scopes: string) => scopeOf(makeToken(home, {}, { scopes }));
  expect(granted('mcp:demo:read, mcp:cortex:read mcp:demo:write')).toBe('mcp:demo:read mcp:cortex:read mcp:demo:write');
  expect(() => granted('mcp:cortex:raed')).toThrow(/unknown: mcp:cortex:raed/);
});

it('knows every scope of Cortex', () => {
  expect([...KNOWN_SCOPES.keys()].toSorted()).toEqual(Object.values<string>(SCOPES).toSorted());
});
