import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';

const ROOT = resolve(import.meta.dirname, '../../../..');
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

type Manifest = Partial<Record<(typeof KINDS)[number], Record<string, string>>>;

const manifests = ['package.json', ...globSync('{libs,services}/*/package.json', { cwd: ROOT })].map(
  (file) => [file, JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as Manifest] as const,
);
const foreign = manifests.flatMap(([file, manifest]) =>
  KINDS.flatMap((kind) => Object.entries(manifest[kind] ?? {}))
    .filter(([name]) => !name.startsWith('@cortex/'))
    .map(([name, version]) => ({ file, name, version })),
);

it('docs/dependencies.md has a line for every package that the tree depends on, and for no other', () => {
  const page = readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8');
  const named = [...page.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, name]) => name);
  expect(new Set(named)).toEqual(new Set(foreign.map(({ name }) => name)));
  expect(named.length).toBe(new Set(named).size);
});

it('T78 every dependency has an exact version, and one version in the whole tree', () => {
  expect(foreign.filter(({ version }) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  const versions = Map.groupBy(foreign, ({ name }) => name);
  expect([...versions.values()].filter((uses) => new Set(uses.map((use) => use.version)).size > 1)).toEqual([]);
});
