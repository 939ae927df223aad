import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@cortex/service-kit/config';
import type { Secrets } from '@cortex/service-kit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SECRET_READERS } from '../deploy/secrets.js';
import { identityOf } from '../identity.js';
import { loadServices } from '../services.js';
import { secrets } from './secrets.js';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'cortex-secrets-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const out = (...path: string[]): string => join(dir, 'out', ...path);
const write = (flags: { with?: string; owner?: string; rotate?: boolean } = {}) =>
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

  it('changes the passwords of bus and database in a rotation, on both sides, and no key', async () => {
    await write();
    const before = everything();
    await write({ rotate: true });
    const after = everything();
    const changed = Object.keys(before).filter((path) => before[path] !== after[path]);
    const names = [...new Set(changed.map((path) => String(path.split('/')[1])))];
    expect(names.toSorted()).toEqual([
      'CORTEX_DATABASE_PASSWORD',
      'CORTEX_DATABASE_PROJECTOR_PASSWORD',
      'CORTEX_NATS_PASSWORD',
      'passwords.conf',
      'provision.json',
    ]);
    expect(after['nats/passwords.conf']).toContain(after['ticket/CORTEX_NATS_PASSWORD']);
    const of = (text = '{}') => (JSON.parse(text) as Secrets).database;
    expect(of(after['provision/provision.json'])['ticket']).toBe(after['ticket/CORTEX_DATABASE_PASSWORD']);
    expect(of(after['provision/provision.json']).admin).toEqual(of(before['provision/provision.json']).admin);
    await write();
    expect(everything()).toEqual(after);
  });

  it('changes them for a home alone, which has to be down', async () => {
    const home = join(dir, 'home');
    await write();
    const before = readFileSync(join(home, 'config', 'secrets.json'), 'utf8');
    await secrets({ home, rotate: true });
    expect(readFileSync(join(home, 'config', 'secrets.json'), 'utf8')).not.toBe(before);
    mkdirSync(join(home, 'run'), { recursive: true });
    writeFileSync(join(home, 'run', 'up.json'), JSON.stringify({ supervisor: identityOf(process.pid) }));
    await expect(secrets({ home, rotate: true })).rejects.toThrow('is running; end it first: cortex down');
    await expect(secrets({ home })).rejects.toThrow('--out is missing');
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
