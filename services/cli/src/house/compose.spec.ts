import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SERVICES } from '@cortex/contracts/services';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { NODE_FLAGS } from '../node-flags.js';

const ROOT = resolve(import.meta.dirname, '../../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Container {
  image: string;
  command?: string[];
  user?: string;
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  privileged?: boolean;
  security_opt?: string[];
  restart?: string;
  network_mode?: string;
  networks?: string[];
  ports?: string[];
  volumes?: string[];
  environment?: Record<string, string | null>;
  healthcheck?: { disable?: boolean; test?: string[] };
  deploy?: { resources?: { limits?: { cpus?: string; memory?: string } } };
  profiles?: string[];
}

const text = read('docker-compose.yml');
const compose = parse(text, { merge: true }) as {
  services: Record<string, Container>;
  networks: Record<string, { internal?: boolean }>;
  volumes: Record<string, unknown>;
};
const containers = Object.entries(compose.services);
/** Those that stay; the others do one thing and end. */
const lasting = containers.filter(([, { restart }]) => restart === 'unless-stopped');
const named = (test: (container: Container, name: string) => boolean): string[] =>
  containers.filter(([name, container]) => test(container, name)).map(([name]) => name);

describe('an installation in containers', () => {
  it('has every service, each in a container of its own that runs nothing else', () => {
    const commands = SERVICES.map((name) => compose.services[name]?.command);
    expect(commands).toEqual(SERVICES.map((name) => ['serve', name]));
  });

  it('runs nothing with more rights than it needs: read-only, no capability, no way to gain one', () => {
    expect(named((one) => one.read_only !== true)).toEqual([]);
    expect(named((one) => one.cap_drop?.join() !== 'ALL' || one.privileged === true)).toEqual([]);
    expect(named((one) => !one.security_opt?.includes('no-new-privileges:true'))).toEqual([]);
    // It gives the files of secrets to their readers, has no network and ends.
    expect(named((one) => one.cap_add !== undefined || one.user?.startsWith('0') === true)).toEqual(['secrets']);
    expect(compose.services['secrets']).toMatchObject({ network_mode: 'none', restart: 'no' });
  });

  it('T60 gives a container its own secrets, by file, and nobody else’s', () => {
    const mounted = containers.flatMap(([name, { volumes = [] }]) =>
      volumes.filter((volume) => volume.startsWith('secrets-')).map((volume) => [name, volume.split(':')[0]]),
    );
    const foreign = mounted.filter(([name, volume]) => name !== 'secrets' && volume !== `secrets-${name}`);
    expect(foreign).toEqual([]);
    expect(mounted.length).toBeGreaterThan(2 * SERVICES.length);
    const writable = containers.filter(([, { volumes = [] }]) =>
      volumes.some((volume) => /^secrets-.*:\/run\/cortex\/secrets$/.test(volume)),
    );
    expect(writable).toEqual([]);
    // The home holds all of them: only the development issuer and the operator's command line have it.
    expect(named((one) => one.volumes?.some((volume) => volume.startsWith('home:')) === true)).toEqual([
      'secrets',
      'issuer',
      'operator',
    ]);
  });

  it('has no password in an environment, and none that is the same everywhere', () => {
    const set = containers.flatMap(([name, { environment = {} }]) =>
      Object.keys(environment)
        .filter((variable) => /(PASSWORD|SECRET|TOKEN|KEY)$/.test(variable))
        .map((variable) => `${name} ${variable}`),
    );
    expect(set).toEqual([]);
  });

  it('lets bus and database be reached from inside alone', () => {
    expect(compose.networks['inner']).toEqual({ internal: true });
    for (const name of ['nats', 'postgres']) {
      expect(compose.services[name]).toMatchObject({ networks: ['inner'] });
      expect(compose.services[name]?.ports).toBeUndefined();
    }
    // Only these meet the outside: the proxy and what people open themselves on this machine.
    expect(named(({ ports }) => ports !== undefined)).toEqual(['proxy', 'issuer', 'grafana']);
  });

  it('has a limit of memory and of processors for whatever stays, and knows when it is well', () => {
    const unlimited = lasting.filter(([, { deploy }]) => {
      const { cpus, memory } = deploy?.resources?.limits ?? {};
      return cpus === undefined || memory === undefined;
    });
    expect(unlimited.map(([name]) => name)).toEqual([]);
    const unwatched = lasting.filter(([, { healthcheck, profiles }]) => !healthcheck?.test && !profiles);
    expect(unwatched.map(([name]) => name)).toEqual([]);
  });

  it('runs Node with the flags that services have everywhere', () => {
    expect(read('deploy/image/cortex')).toContain(`exec node ${NODE_FLAGS.join(' ')} `);
  });

  it('names only files that are there', () => {
    const files = containers.flatMap(([, { volumes = [] }]) => volumes.filter((volume) => volume.startsWith('./')));
    expect(files.map((file) => file.split(':')[0]!).filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it('has an explanation in .env.example for each variable that it takes, and for no other', () => {
    const explained = [...read('.env.example').matchAll(/^#([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name!);
    const interpolated = [...text.matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => name!);
    const passed = containers.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).flatMap(([name, value]) => (value === null ? [name] : [])),
    );
    expect(explained.toSorted()).toEqual([...new Set([...interpolated, ...passed])].toSorted());
  });
});
