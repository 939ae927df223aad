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

it('T69 asks for the right on devices that fits what a tool does there', () => {
  expect(Object.fromEntries(tools.map(({ name, announced }) => [name, [announced.tier, ...announced.scopes]]))).toEqual(
    {
      remote_bash: ['write', 'mcp:cortex:devices:exec'],
      remote_read: ['read', 'mcp:cortex:devices:read'],
      remote_write: ['write', 'mcp:cortex:devices:write'],
      remote_edit: ['write', 'mcp:cortex:devices:write'],
      remote_glob: ['read', 'mcp:cortex:devices:read'],
      remote_grep: ['read', 'mcp:cortex:devices:read'],
    },
  );
});

it('marks every result as coming from outside', () => {
  expect(tools.every(({ announced }) => announced.untrusted)).toBe(true);
});
