import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@cortex/service-kit/config';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SECRET_READERS } from '../deploy/secrets.js';
import { loadServices } from '../services.js';
import { secrets } from './secrets.js';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'cortex-secrets-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const out = (...path: string[]): string => join(dir, 'out', ...path);
const write = (flags: { with?: string; owner?: string } = {}) =>
  secrets({ home: join(dir, 'home'), out: out(), ...flags });
const everything = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(out(), { recursive: true, encoding: 'utf8' })
      .filter((path) => statSync(out(path)).isFile())
      .map((path) => [path, readFileSync(out(path), 'utf8')]),
  );

describe('cortex secrets', () => {
  it('T60 writes a folder per reader, whose files its user alone may read', async () => {
    await write();
    expect(readdirSync(out()).toSorted()).toEqual([...SECRET_READERS].toSorted());
    const open = Object.keys(everything()).filter((path) => (statSync(out(path)).mode & 0o077) !== 0);
    // Its server runs under a user of its own image, and mounts nothing else.
    expect(open).toEqual(['postgres/POSTGRES_PASSWORD']);
  });

  it('changes nothing that was handed out, and brings back what was lost', async () => {
    await write();
    const before = everything();
    rmSync(out('ticket'), { recursive: true });
    await write();
    expect(everything()).toEqual(before);
  });

  it('gives a service all that it needs to know of bus and database', async () => {
    await write();
    const [{ def }] = (await loadServices(['ticket'])) as [Awaited<ReturnType<typeof loadServices>>[number]];
    const { services } = readConfig([def], {
      CORTEX_HOME: join(dir, 'none'),
      CORTEX_SECRETS_DIR: out('ticket'),
      CORTEX_NATS_URL: 'nats://nats:4222',
      CORTEX_DATABASE_URL: 'postgres://postgres:5432/cortex',
    });
    const own = everything();
    expect(services[0]?.credentials).toEqual({
      busUser: 'ticket',
      busPassword: own['ticket/CORTEX_NATS_PASSWORD'],
      databasePassword: own['ticket/CORTEX_DATABASE_PASSWORD'],
      projectorPassword: own['ticket/CORTEX_DATABASE_PROJECTOR_PASSWORD'],
    });
  });

  it('hands on what an operator gives to a service, and refuses a folder of nobody', async () => {
    const given = join(dir, 'given');
    mkdirSync(join(given, 'mcp-edge'), { recursive: true });
    writeFileSync(join(given, 'README.md'), 'not a secret');
    writeFileSync(join(given, 'mcp-edge', 'OAUTH_INTROSPECT_CLIENT_SECRET'), 'of the provider');
    await write({ with: given });
    expect(everything()).toMatchObject({ 'mcp-edge/OAUTH_INTROSPECT_CLIENT_SECRET': 'of the provider' });
    expect(readdirSync(out())).not.toContain('README.md');
    mkdirSync(join(given, 'edge'));
    await expect(write({ with: given })).rejects.toThrow('--with has a folder edge; use some of mcp-edge, ');
  });

  it('names what is wrong with its flags', async () => {
    await expect(write({ owner: 'node' })).rejects.toThrow('--owner is no user id: "node"; give a number');
    writeFileSync(out(), 'a file');
    await expect(write()).rejects.toThrow(`--out ${out()} cannot be written`);
  });
});
