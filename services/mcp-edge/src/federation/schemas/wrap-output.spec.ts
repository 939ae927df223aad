import { expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { checkSchema } from './check.js';
import { isWrapped, wrapOutput } from './wrap-output.js';

const wrapped = (schema: object): Record<string, unknown> =>
  JSON.parse(wrapOutput(JSON.stringify(schema))) as Record<string, unknown>;

it.each([
  [{ type: 'object' }, false],
  [{ type: 'array' }, true],
  [{}, true],
  [{ type: ['object', 'null'] }, true],
  [{ $ref: '#/$defs/a' }, true],
])('P32 %j is wrapped: %s', (schema, yes) => expect(isWrapped(schema)).toBe(yes));

it('moves what points into the document, and names nothing else', () =>
  expect(
    wrapped({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      items: { $ref: '#/$defs/a' },
      anyOf: [{ $ref: '#' }, { $ref: '#named' }, { const: { $ref: '#/$defs/a' } }],
      $defs: {
        a: { $anchor: 'named' },
        b: { $id: 'https://example.com/b', items: { $ref: '#/$defs/c' }, $defs: { c: {} } },
      },
    }),
  ).toEqual({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      result: {
        items: { $ref: '#/properties/result/$defs/a' },
        anyOf: [{ $ref: '#/properties/result' }, { $ref: '#named' }, { const: { $ref: '#/$defs/a' } }],
        $defs: {
          a: { $anchor: 'named' },
          b: { $id: 'https://example.com/b', items: { $ref: '#/$defs/c' }, $defs: { c: {} } },
        },
      },
    },
    required: ['result'],
  }));

it.each([
  { type: 'array', items: { anyOf: [{ type: 'integer' }, { $ref: '#' }] } },
  { $id: 'https://example.com/tree', type: 'array', items: { $ref: '#/$defs/n' }, $defs: { n: { type: 'integer' } } },
  { $schema: 'https://json-schema.org/draft/2019-09/schema', type: 'array', items: { $recursiveRef: '#' } },
])('makes a good schema that takes the wrapped values: %j', (schema) => {
  const form = wrapped(schema);
  expect(checkSchema(JSON.stringify(form), form, 'output')).not.toHaveProperty('fault');
  const validate = new Ajv2020({ strict: false, meta: false, validateSchema: false }).compile(form);
  expect([[], [1], { result: 1 }, { result: ['x'] }, { result: [] }].map((value) => validate(value))).toEqual([
    false,
    false,
    false,
    false,
    true,
  ]);
});
