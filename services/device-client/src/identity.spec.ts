import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signedBy } from '@cortex/contracts/device-wire';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openIdentity } from './identity.js';

let dir: string;
beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'cortex-identity-')), 'config');
});
afterEach(() => rm(join(dir, '..'), { recursive: true, force: true }));

it('makes a key once, readable by its user alone, and keeps it', async () => {
  const { publicKey } = openIdentity(dir);
  expect((await stat(join(dir, 'cortex-client.key'))).mode & 0o777).toBe(0o600);
  expect(openIdentity(dir).publicKey).toBe(publicKey);
  expect(await readdir(dir)).toEqual(['cortex-client.key']);
});
it('signs so that the public key tells', () => {
  const identity = openIdentity(dir);
  const bytes = Buffer.from('x');
  expect(signedBy(identity.publicKey, bytes, identity.sign(bytes))).toBe(true);
  expect(signedBy(identity.publicKey, Buffer.from('y'), identity.sign(bytes))).toBe(false);
  expect(signedBy('no key', bytes, identity.sign(bytes))).toBe(false);
});
it('refuses a key that others may read, and one that is none', async () => {
  openIdentity(dir);
  await chmod(join(dir, 'cortex-client.key'), 0o644);
  expect(() => openIdentity(dir)).toThrow(/can be read by others; run chmod 600/);
  await writeFile(join(dir, 'cortex-client.key'), 'nonsense');
  await chmod(join(dir, 'cortex-client.key'), 0o600);
  expect(() => openIdentity(dir)).toThrow(/holds no private key/);
});
it('T67 remembers the key of the server that it joined', () => {
  const identity = openIdentity(dir);
  expect(identity.pinned()).toBeNull();
  identity.pin('server-key');
  expect(openIdentity(dir).pinned()).toBe('server-key');
});
