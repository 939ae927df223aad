import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { withSecretFiles } from './secret-files.js';

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'cortex-secrets-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

describe('a folder of secrets', () => {
  it('gives each variable the text of its file, without the line break at its end', () => {
    const CORTEX_SECRETS_DIR = folderWith({ CORTEX_NATS_PASSWORD: 'two\nlines\n', CORTEX_STATE_KEY: 'one' });
    expect(withSecretFiles({ CORTEX_SECRETS_DIR })).toEqual({
      CORTEX_SECRETS_DIR,
      CORTEX_NATS_PASSWORD: 'two\nlines',
      CORTEX_STATE_KEY: 'one',
    });
  });
  it('does not win over a variable that is set; an empty one is not set', () => {
    const CORTEX_SECRETS_DIR = folderWith({ CORTEX_A: 'file', CORTEX_B: 'file' });
    const { CORTEX_A, CORTEX_B } = withSecretFiles({ CORTEX_SECRETS_DIR, CORTEX_A: 'set', CORTEX_B: '' });
    expect([CORTEX_A, CORTEX_B]).toEqual(['set', 'file']);
  });
  it('may hold what is no variable, such as the links that a cluster swaps', () => {
    const CORTEX_SECRETS_DIR = folderWith({ 'README.md': 'x' });
    mkdirSync(join(CORTEX_SECRETS_DIR, '..data'));
    expect(withSecretFiles({ CORTEX_SECRETS_DIR })).toEqual({ CORTEX_SECRETS_DIR });
  });
  it('is named when it is not there, since the service would start without its passwords', () => {
    expect(() => withSecretFiles({ CORTEX_SECRETS_DIR: '/nowhere' })).toThrow(
      'CORTEX_SECRETS_DIR names /nowhere, which cannot be read (ENOENT); mount it, readable for this user',
    );
  });
});
