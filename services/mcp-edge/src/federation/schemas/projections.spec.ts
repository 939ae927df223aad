import { describe, expect, it } from '@jest/globals';
import { checkSchema } from './check.js';
import { KNOWN_PROFILES, profileOf } from './profiles.js';
import { project } from './projections.js';

const projected = (schema: object, profile: string, kind: 'input' | 'output' = 'input') => {
  const text = JSON.stringify(schema);
  const result = project(text, profile, kind);
  if ('omitted' in result) return result;
  const value = JSON.parse(result.text) as Record<string, unknown>;
  // Whatever a profile makes is a good schema again.
  expect(checkSchema(result.text, value, kind)).not.toHaveProperty('fault');
  expect(result.changed).toBe(result.text !== text);
  return value;
};
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

describe('the names of profiles', () => {
  it.each([
    ['basic', 'basic'],
    ['strip, INLINE,flat', 'basic'],
    ['draft-07,strip', 'strip,draft-07'],
    ['strip,strip', 'strip'],
    ['original', 'original'],
    ['original,strip', 'strip'],
  ])('%s is %s', (asked, profile) => expect(profileOf(asked)).toBe(profile));
  it.each(['', ',', 'simple', 'inline;strip', 'inline,simple'])('%j is none', (asked) =>
    expect(profileOf(asked)).toBeUndefined(),
  );
  it.each(KNOWN_PROFILES)('%s leaves alone what is simple already', (profile) => {
    const text = '{"type":"object","properties":{"a":{"type":"string","maximum":1.0}},"required":["a"]}';
    if (profile !== 'draft-07') expect(project(text, profile, 'input')).toEqual({ text, changed: false });
  });
  it('keep numbers that no double can hold', () =>
    expect(
      project(
        '{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"maximum":9223372036854775807}}}',
        'inline',
        'input',
      ),
    ).toEqual({
      text: '{"type":"object","properties":{"a":{"maximum":9223372036854775807}}}',
      changed: true,
    }));
});

describe('inline', () => {
  it('P33 puts what a reference leads to in its place, by pointer, anchor and identifier', () =>
    expect(
      projected(
        object(
          { a: { $ref: '#/$defs/a' }, b: { $ref: '#b' }, c: { $ref: 'c' } },
          {
            $defs: {
              a: { type: 'string' },
              b: { $anchor: 'b', items: { $ref: '#/$defs/a' } },
              c: { $id: 'c', $ref: '#/$defs/d', $defs: { d: { type: 'null' } } },
            },
          },
        ),
        'inline',
      ),
    ).toEqual(object({ a: { type: 'string' }, b: { items: { type: 'string' } }, c: { type: 'null' } })));

  it('keeps what stands beside a reference', () =>
    expect(
      projected(
        object({ a: { $ref: '#/$defs/a', description: 'x', minLength: 1 } }, { $defs: { a: { type: 'string' } } }),
        'inline',
      ),
    ).toEqual(object({ a: { description: 'x', minLength: 1, allOf: [{ type: 'string' }] } })));
  it('keeps only the description beside one in draft-07, where the rest counts for nothing', () => {
    const $schema = 'http://json-schema.org/draft-07/schema#';
    const schema = {
      $schema,
      ...object({ a: { $ref: '#/definitions/a', description: 'x', minLength: 1 } }, { definitions: { a: {} } }),
    };
    expect(projected(schema, 'inline')).toEqual({ $schema, ...object({ a: { description: 'x', allOf: [{}] } }) });
  });

  it('says where a schema leads back into itself', () =>
    expect(
      projected(
        object(
          { tree: { $ref: '#/$defs/node' } },
          { $defs: { node: object({ children: { type: 'array', items: { $ref: '#/$defs/node' } } }) } },
        ),
        'inline',
      ),
    ).toEqual(
      object({
        tree: object({ children: { type: 'array', items: { description: 'recursive: node', type: 'object' } } }),
      }),
    ));
  it('follows a dynamic reference to the outermost schema of its name', () =>
    expect(
      projected(
        object(
          { list: { $ref: 'list' } },
          {
            $defs: {
              element: { $dynamicAnchor: 'T', type: 'string' },
              list: { $id: 'list', items: { $dynamicRef: '#T' }, $defs: { any: { $dynamicAnchor: 'T' } } },
            },
          },
        ),
        'inline',
      ),
    ).toEqual(object({ list: { items: { type: 'string' } } })));

  it('has bounds, and leaves out what would cross them, before it is written', () => {
    const levels = Array.from({ length: 20 }, (_, i) => [
      `l${i}`,
      { anyOf: [{ $ref: `#/$defs/l${i + 1}` }, { $ref: `#/$defs/l${i + 1}` }] },
    ]);
    const doubling = object({ a: { $ref: '#/$defs/l0' } }, { $defs: { ...Object.fromEntries(levels), l20: {} } });
    expect(projected(doubling, 'inline')).toMatchObject({ omitted: expect.any(String) });
    const big = { enum: ['x'.repeat(100_000)] };
    const twice = object({ a: { $ref: '#/$defs/big' }, b: { $ref: '#/$defs/big' } }, { $defs: { big } });
    expect(projected(twice, 'inline')).toMatchObject({ omitted: expect.stringContaining('128 KiB') });
    let deep: object = {};
    for (let i = 0; i < 17; i++) deep = object({ a: deep });
    expect(projected(deep, 'inline')).toMatchObject({ omitted: expect.stringContaining('deep') });
    expect(projected(deep, 'strip')).toEqual(deep);
  });
});

describe('flat', () => {
  it('P31 offers the properties of alternatives together and says what belongs together', () =>
    expect(
      projected(
        object(
          { name: { type: 'string' } },
          {
            required: ['name'],
            anyOf: [
              object({ phone: { type: 'string' } }, { required: ['phone'] }),
              { properties: { mail: { type: 'string' } }, required: ['mail', 'name'] },
            ],
          },
        ),
        'flat',
      ),
    ).toEqual(
      object(
        { name: { type: 'string' }, phone: { type: 'string' }, mail: { type: 'string' } },
        {
          required: ['name'],
          description: 'Give at least one of these groups: phone; or mail and name.',
        },
      ),
    ));
  it('requires what every alternative requires, and lets a property be any of what they say', () =>
    expect(
      projected(
        {
          type: 'object',
          description: 'Draws.',
          oneOf: [
            object({ kind: { const: 'dot' }, x: {} }, { required: ['kind', 'x'] }),
            object({ kind: { const: 'line' } }, { required: ['kind'] }),
          ],
        },
        'flat',
      ),
    ).toEqual({
      type: 'object',
      description: 'Draws. Give exactly one of these groups: kind is "dot" and x; or kind is "line".',
      properties: { kind: { anyOf: [{ const: 'dot' }, { const: 'line' }] }, x: {} },
      required: ['kind'],
    }));
  it('merges what all parts demand', () =>
    expect(
      projected(
        object(
          { a: {} },
          {
            required: ['a'],
            allOf: [{ $ref: '#/$defs/b' }, { minProperties: 2, patternProperties: { '^x': {} } }],
            $defs: { b: object({ b: { type: 'string' } }, { required: ['b'], additionalProperties: false }) },
          },
        ),
        'flat',
      ),
    ).toEqual({
      type: 'object',
      properties: { a: {}, b: { type: 'string' } },
      required: ['a', 'b'],
      $defs: { b: object({ b: { type: 'string' } }, { required: ['b'], additionalProperties: false }) },
      additionalProperties: false,
      minProperties: 2,
      patternProperties: { '^x': {} },
    }));
  it('turns conditions into sentences', () => {
    const flat = projected(
      object(
        { kind: { enum: ['a', 'b'] } },
        {
          if: { properties: { kind: { const: 'a' } }, required: ['kind'] },
          // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
          then: { required: ['x'], properties: { x: { type: 'string' } } },
          else: { required: ['y'] },
          not: { required: ['x', 'y'] },
          dependentSchemas: { z: { required: ['x'] } },
        },
      ),
      'flat',
    );
    expect(flat).toEqual(
      object(
        { kind: { enum: ['a', 'b'] }, x: { type: 'string' } },
        {
          description:
            'If kind is given and kind is "a", x is required and x must fit {"type":"string"}; otherwise y is required. ' +
            'Not allowed: x is given and y is given. If z is given, x is required.',
        },
      ),
    );
  });
  it('keeps a mirrored parameter at its place', () => {
    const region = { type: 'string', 'x-mcp-header': 'Region' };
    const flat = projected(
      object(
        { region },
        { anyOf: [{ properties: { region: { const: 'eu' } } }, { properties: { region: { const: 'us' } } }] },
      ),
      'flat',
    );
    expect(flat).toMatchObject({ properties: { region } });
  });
  it('leaves a schema out that no object fits', () =>
    expect(projected({ type: 'object', oneOf: [{ type: 'string' }, false] }, 'flat')).toMatchObject({
      omitted: expect.any(String),
    }));
  it('is nothing for output schemas', () => {
    const schema = object({}, { oneOf: [{ required: ['a'] }] });
    expect(projected(schema, 'flat', 'output')).toEqual(schema);
  });
  it('keeps references good that led into what is merged', () =>
    expect(
      projected(
        object({ b: { $ref: '#/allOf/0/properties/a' } }, { allOf: [object({ a: { type: 'string' } })] }),
        'flat',
      ),
    ).toEqual(object({ b: { type: 'string' }, a: { type: 'string' } })));
});

describe('strip', () => {
  it('drops what few clients understand, and no value that was allowed', () =>
    expect(
      projected(
        object(
          {
            a: { type: ['string', 'null'], minLength: 1, contentEncoding: 'base64' },
            b: { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
            c: { patternProperties: { '^x': { type: 'string' } }, additionalProperties: false },
            d: { oneOf: [{ const: 1 }, { const: 2 }], not: {} },
            e: { description: 'x', allOf: [{ type: 'string', maxLength: 3 }] },
          },
          { $schema: 'https://json-schema.org/draft/2020-12/schema', minProperties: 1 },
        ),
        'strip',
      ),
    ).toEqual(
      object({
        a: { anyOf: [{ type: 'string' }, { type: 'null' }], minLength: 1 },
        b: { items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
        c: { additionalProperties: { type: 'string' } },
        d: { anyOf: [{ const: 1 }, { const: 2 }] },
        e: { description: 'x', type: 'string', maxLength: 3 },
      }),
    ));
  it('keeps every reference good, whatever it led through', () =>
    expect(
      projected(
        object(
          { a: { $ref: '#A' }, b: { $ref: '#/definitions/B/not' }, c: { $ref: '#' }, d: { $ref: '#/$defs/x%20y' } },
          {
            $defs: { 'x y': { type: 'null' } },
            definitions: { A: { $anchor: 'A', type: 'string' }, B: { not: { type: 'string' } } },
          },
        ),
        'strip',
      ),
    ).toEqual(
      object(
        { a: { $ref: '#/$defs/A' }, b: { $ref: '#/$defs/not' }, c: { $ref: '#' }, d: { $ref: '#/$defs/x%20y' } },
        {
          $defs: { 'x y': { type: 'null' }, A: { type: 'string' }, B: {}, not: { type: 'string' } },
        },
      ),
    ));
  it('keeps a mirrored parameter', () => {
    const schema = object({ region: { type: 'string', 'x-mcp-header': 'Region' } });
    expect(projected(schema, 'basic')).toEqual(schema);
  });
});

describe('draft-07', () => {
  it('says the same in older words', () =>
    expect(
      projected(
        object(
          {
            pair: { prefixItems: [{}, { $ref: '#/$defs/a' }], items: false },
            any: { contains: { const: 1 }, minContains: 0 },
            a: { $ref: '#A', description: 'x' },
          },
          {
            $defs: { a: { $anchor: 'A', type: 'string', unevaluatedProperties: false } },
            dependentRequired: { a: ['b'], c: ['a'] },
            dependentSchemas: { a: { minProperties: 2 } },
          },
        ),
        'draft-07',
      ),
    ).toEqual({
      $schema: 'http://json-schema.org/draft-07/schema#',
      ...object(
        {
          pair: { items: [{}, { $ref: '#/definitions/a' }], additionalItems: false },
          any: {},
          a: { description: 'x', allOf: [{ $ref: '#/definitions/a' }] },
        },
        {
          definitions: { a: { type: 'string' } },
          dependencies: { a: { allOf: [{ required: ['b'] }, { minProperties: 2 }] }, c: ['a'] },
        },
      ),
    }));
  it('obeys no keyword that the declared dialect did not know', () =>
    expect(
      projected(
        {
          $schema: 'http://json-schema.org/draft-06/schema#',
          ...object({}),
          if: {},
          // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
          then: false,
          dependentRequired: { a: ['b'] },
        },
        'draft-07',
      ),
    ).toEqual({
      $schema: 'http://json-schema.org/draft-07/schema#',
      ...object({}),
    }));
});

describe('the type of the root', () => {
  const $schema = 'http://json-schema.org/draft-07/schema#';
  const schema = { $schema, type: 'object', $ref: '#/definitions/a', definitions: { a: { properties: { b: {} } } } };
  it.each(['inline', 'flat', 'strip', 'draft-07', 'basic'])(
    'stays in %s, also where its dialect does not look at it',
    (profile) => expect(projected(schema, profile)).toMatchObject({ type: 'object' }),
  );
});

it.each(KNOWN_PROFILES)(
  'T95 %s has an answer to a chain of references that is as long as a document may be',
  (profile) => {
    const links = Array.from({ length: 950 }, (_, i) => [`l${i}`, { allOf: [{ $ref: `#/$defs/l${i + 1}` }] }]);
    const schema = {
      type: 'object',
      $ref: '#/$defs/l0',
      $defs: { ...Object.fromEntries(links), l950: { minProperties: 1 } },
    };
    expect(checkSchema(JSON.stringify(schema), schema, 'input')).not.toHaveProperty('fault');
    expect(project(JSON.stringify(schema), profile, 'input')).toBeDefined();
  },
);
