import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { tools } from './registry.js';

it('every tool file is in the registry, and has a test', () => {
  const files = readdirSync(new URL('.', import.meta.url));
  const named = tools.map(({ name }) => `${name.replaceAll('_', '-')}.tool`);
  expect(files.filter((file) => file.endsWith('.tool.ts')).sort()).toEqual(named.map((name) => `${name}.ts`).sort());
  for (const name of named) expect(files.some((file) => file.startsWith(name) && file.endsWith('.spec.ts'))).toBe(true);
});

it('whoami is the first, and every field is described or speaks for itself', () => {
  expect(tools[0]?.name).toBe('whoami');
  for (const { announced } of tools) {
    const properties = Object.entries(announced.input_schema.properties ?? {}) as [string, { description?: string }][];
    for (const [field, { description }] of properties)
      expect([announced.name, field, description]).not.toContain(undefined);
  }
});
