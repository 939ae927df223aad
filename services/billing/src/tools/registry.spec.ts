import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { tools } from './registry.js';

it('lists every tool file', () => {
  const files = readdirSync(new URL('.', import.meta.url)).filter((name) => name.endsWith('.tool.ts'));
  const names = files.map((name) => name.replace('.tool.ts', '').replaceAll('-', '_'));
  expect(tools.map((tool) => tool.name).sort()).toEqual(names.sort());
});

it('describes every argument', () => {
  const bare = tools.flatMap(({ name, announced }) =>
    Object.entries(announced.input_schema['properties'] as Record<string, { description?: string }>)
      .filter(([, { description }]) => !description)
      .map(([field]) => `${name}.${field}`),
  );
  expect(bare).toEqual([]);
});
