import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { argumentsOf } from './arguments.js';
import { limit } from './limit.js';
import { defineTool } from './tool.js';

const tool = defineTool({
  name: 'list_things',
  title: 'List things',
  description: 'Lists.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  input: z.object({ limit: limit(50) }),
  output: z.object({}),
  handle: () => ({}),
});

const given: [unknown, number][] = [
  [undefined, 50],
  [null, 50],
  ['many', 50],
  ['7', 50],
  [{}, 50],
  [0, 1],
  [-3, 1],
  [0.5, 1],
  [7.9, 7],
  [500, 500],
  [501, 500],
  [1e300, 500],
];

describe('a limit', () => {
  it.each(given)('of %j means %d', (value, used) => {
    const args = value === undefined ? {} : { limit: value };
    expect(tool.arguments.check(args)).toEqual({ limit: used });
  });

  it.each(given)('of %j is refused by nobody who goes by the announced schema', (value) => {
    const announced = z.fromJSONSchema(tool.announced.input_schema) as z.ZodObject;
    const args = value === undefined ? {} : { limit: value };
    expect(() => argumentsOf(announced, 'none').check(args)).not.toThrow();
  });

  it('says its bounds and its default', () => {
    expect(tool.announced.input_schema['properties']).toEqual({
      limit: { description: 'At most so many, 1 to 500; default 50', default: 50 },
    });
    expect(tool.announced.input_schema).not.toHaveProperty('required');
  });
});
