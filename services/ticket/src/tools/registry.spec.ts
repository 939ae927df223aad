import { wholeRegistry } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { tools } from './registry.js';

wholeRegistry(tools, import.meta.url);

it('describes every field of a result', () => {
  const bare = tools.flatMap(({ name, announced }) =>
    Object.entries(announced.output_schema['properties'] as Record<string, { description?: string }>)
      .filter(([, { description }]) => !description)
      .map(([field]) => `${name}.${field}`),
  );
  expect(bare).toEqual([]);
});
