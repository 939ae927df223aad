import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { deploymentFiles } from '../deploy/files.js';
import { homeOf, openHome } from '../home.js';
import { ensureSecrets } from '../secrets.js';
import { loadServices } from '../services.js';

const ROOT = resolve(import.meta.dirname, '../../../..');

it('T80 what is deployed is what the code says: services, permissions on the bus, secrets, scrape targets', async () => {
  const definitions = (await loadServices()).map(({ def }) => def);
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  const home = homeOf(mkdtempSync(join(tmpdir(), 'cortex-deploy-')));
  openHome(home);
  const files = deploymentFiles(definitions, await ensureSecrets(home), read);
  rmSync(home.dir, { recursive: true });
  if (process.env['UPDATE_DEPLOY'] === '1') for (const [path, text] of files) writeFileSync(join(ROOT, path), text);
  const behind = files.filter(([path, text]) => read(path) !== text).map(([path]) => path);
  expect({ behind, fix: 'npm run deploy' }).toEqual({ behind: [], fix: 'npm run deploy' });
});
