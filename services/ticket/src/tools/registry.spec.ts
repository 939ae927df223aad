import { readdirSync } from 'node:fs';
import { REQUIRES_APPROVAL, REGISTRY_CLASSES } from '@cortex/contracts';
import { expect, it } from '@jest/globals';
import { tools } from './registry.js';

it('lists every tool file', () => {
  const files = readdirSync(new URL('.', import.meta.url)).filter((name) => name.endsWith('.tool.ts'));
  const names = files.map((name) => name.replace('.tool.ts', '').replaceAll('-', '_'));
  expect(tools.map((tool) => tool.name).sort()).toEqual(names.sort());
});

it('describes every argument and every field of a result', () => {
  const bare = tools.flatMap(({ name, announced }) =>
    [announced.input_schema, announced.output_schema].flatMap((schema) =>
      Object.entries(schema['properties'] as Record<string, { description?: string }>)
        .filter(([, { description }]) => !description)
        .map(([field]) => `${name}.${field}`),
    ),
  );
  expect(bare).toEqual([]);
});

it('declares the classes and approvals that the gates go by', () => {
  for (const { name, actions, announced } of tools) {
    expect([name, actions]).toEqual([name, REGISTRY_CLASSES[name] ?? []]);
    expect([name, announced.approval]).toEqual([name, REQUIRES_APPROVAL.includes(name)]);
  }
});
