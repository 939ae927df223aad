import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';

const ROOT = resolve(import.meta.dirname, '../../../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const page = read('docs/security.md');

/** `T07`, and every one of `T14–T18`. */
function threatsIn(text: string): Set<string> {
  const named = [...text.matchAll(/\bT(\d\d)(?:–T(\d\d))?/g)].flatMap(([, first, last = first]) => {
    const from = Number(first);
    return Array.from({ length: Number(last) - from + 1 }, (_, n) => `T${String(from + n).padStart(2, '0')}`);
  });
  return new Set(named);
}

it('every threat that docs/security.md says is stopped has a test with its name', () => {
  const specs = globSync('{libs,services}/*/src/**/*.spec.ts', { cwd: ROOT });
  const tested = new Set(specs.flatMap((file) => [...threatsIn(read(file))]));
  const listed = threatsIn(page);
  expect(listed.size).toBeGreaterThan(30);
  expect([...listed].filter((threat) => !tested.has(threat))).toEqual([]);
});

it('no server of a deployment is configured with a password: each is given one at its start', () => {
  const files = globSync(
    ['docker-compose.yml', 'deploy/**/*.{conf,yaml,yml,json,cfg}', 'helm/cortex/**/*.{yaml,conf}'],
    {
      cwd: ROOT,
    },
  );
  // A variable or a place begins with another sign; `<made>` stands in the renderings for what each installation makes.
  const literal = /\b\w*(?:PASSWORD|password)"?\s*[:=]\s*"?\w\S*/g;
  const found = files.flatMap((file) => [...read(file).matchAll(literal)].map(([text]) => `${file}: ${text}`));
  expect(found.filter((text) => !text.includes('helm/cortex/services.yaml'))).toEqual([]);
  expect(files.length).toBeGreaterThan(10);
});
