import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { natsServerBinary } from '@cortex/embedded/nats-binary';
import { deploymentFiles } from '../deploy/files.js';
import { secretFolders } from '../deploy/secrets.js';
import { homeOf, openHome } from '../home.js';
import { ensureSecrets } from '../secrets.js';
import { loadServices } from '../services.js';

const ROOT = resolve(import.meta.dirname, '../../../..');

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const root = mkdtempSync(join(tmpdir(), 'cortex-deploy-'));
afterAll(() => rmSync(root, { recursive: true }));
const home = homeOf(join(root, 'home'));
openHome(home);

it('T80 what is deployed is what the code says: services, permissions on the bus, secrets, scrape targets', async () => {
  const definitions = (await loadServices()).map(({ def }) => def);
  const files = deploymentFiles(definitions, await ensureSecrets(home), read);
  if (process.env['UPDATE_DEPLOY'] === '1') for (const [path, text] of files) writeFileSync(join(ROOT, path), text);
  const behind = files.filter(([path, text]) => read(path) !== text).map(([path]) => path);
  expect({ behind, fix: 'npm run deploy' }).toEqual({ behind: [], fix: 'npm run deploy' });
});

it('is a configuration that nats-server takes, with the passwords where the container has them', async () => {
  const container = join(root, 'nats');
  mkdirSync(join(container, 'run/cortex/secrets'), { recursive: true });
  cpSync(join(ROOT, 'deploy/nats'), join(container, 'etc/nats'), { recursive: true });
  const { nats } = secretFolders(await ensureSecrets(home));
  for (const [file, text] of Object.entries(nats)) writeFileSync(join(container, 'run/cortex/secrets', file), text);
  const config = join(container, 'etc/nats/nats.conf');
  // A server of 2.9 does not know it; the image has a newer one.
  writeFileSync(config, readFileSync(config, 'utf8').replace(/^ *sync_interval: always\n/m, ''));
  const env = { ...process.env, HOSTNAME: 'nats' };
  const tried = spawnSync(await natsServerBinary(), ['-t', '-c', config], { encoding: 'utf8', env });
  expect({ status: tried.status, said: tried.stderr }).toMatchObject({
    status: 0,
    said: expect.stringContaining('valid'),
  });
});

it('T60 hands each reader its own secrets: no value is in two folders, but what is shared on purpose', async () => {
  const folders = Object.entries(secretFolders(await ensureSecrets(home)));
  const readers = folders.flatMap(([reader, files]) =>
    Object.entries(files).map(([name, text]) => ({ reader, name, text })),
  );
  const shared = [...Map.groupBy(readers, ({ text }) => text).values()]
    .filter((uses) => uses.length > 1)
    .map((uses) => `${uses[0]!.name}: ${uses.map(({ reader }) => reader).join(', ')}`);
  expect(shared).toEqual(['CORTEX_WEBHOOK_TOKEN: mcp-edge, session', 'CORTEX_METRICS_TOKEN: mcp-edge, prometheus']);
  const provision = folders.find(([reader]) => reader === 'provision')![1]['provision.json'];
  expect(Object.keys((JSON.parse(provision!) as { bus: object }).bus)).toEqual(['provision']);
});
