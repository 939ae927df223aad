import { describe, expect, it } from '@jest/globals';
import { checkSchema, MAX_SCHEMA_BYTES } from './check.js';

const check = (schema: unknown, kind: 'input' | 'output' = 'input') =>
  checkSchema(JSON.stringify(schema), schema, kind);
const fault = (schema: unknown, kind: 'input' | 'output' = 'input') => {
  const result = check(schema, kind);
  return 'fault' in result ? [result.fault.reason, result.fault.pointer] : 'good';
};
const nested = (levels: number): object =>
  levels === 0 ? {} : { type: 'object', properties: { a: nested(levels - 1) } };

describe('a schema as it is declared', () => {
  it('P35 stays as it is, byte for byte, whatever keywords it has', () => {
    const text =
      '{"type":"object","x-own":{"$ref":"#/nowhere"},"2":1,"1":1.0,"$defs":{"a":{"$anchor":"b","maximum":9223372036854775807}},' +
      '"properties":{"p":{"$ref":"#b"}},"if":{"required":["p"]},"then":{},"additionalProperties":false}';
    expect(checkSchema(text, JSON.parse(text), 'input')).toMatchObject({ text, repaired: false, dialect: '2020-12' });
  });

  it('gets the type that the protocol wants where it has none, in front of all the rest', () => {
    expect(check({ properties: { a: {} } })).toMatchObject({
      text: '{"type":"object","properties":{"a":{}}}',
      value: { type: 'object', properties: { a: {} } },
      repaired: true,
    });
    expect(check({})).toMatchObject({ text: '{"type":"object"}', repaired: true });
    expect(check({}, 'output')).toMatchObject({ text: '{}', repaired: false });
  });

  it.each([[true], ['object'], [null], [[]]])('is no schema of arguments: %j', (schema) =>
    expect(fault(schema)).toEqual(['root_type', '']),
  );
  it.each(['string', ['object', 'null'], ['object'], 'array'])('has arguments that are no object: %j', (type) =>
    expect(fault({ type })).toEqual(['root_type', '/type']),
  );

  it.each([
    ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
    ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
    ['http://json-schema.org/draft-07/schema#', 'draft-07'],
    ['http://json-schema.org/draft-06/schema', 'draft-06'],
  ])('speaks %s', ($schema, dialect) => expect(check({ $schema, type: 'object' })).toMatchObject({ dialect }));
  it.each(['http://json-schema.org/draft-04/schema#', 'https://example.com/own', 'http://json-schema.org/schema', 7])(
    'speaks a dialect that nobody knows: %j',
    ($schema) => expect(fault({ $schema, type: 'object' })).toEqual(['dialect_not_supported', '/$schema']),
  );
  it('speaks one dialect, not two', () =>
    expect(
      fault({ type: 'object', $defs: { a: { $id: 'a', $schema: 'http://json-schema.org/draft-07/schema#' } } }),
    ).toEqual(['dialect_not_supported', '/$defs/a/$schema']));

  it.each([
    [{ type: 'object', properties: { a: { type: 'text' } } }, '/properties/a/type'],
    [{ type: 'object', required: 'a' }, '/required'],
    [{ type: 'object', properties: { a: { minLength: -1 } } }, '/properties/a/minLength'],
    [{ type: 'object', properties: { a: 7 } }, '/properties/a'],
    [{ type: 'object', properties: { a: { items: [{}] } } }, '/properties/a/items'],
    [
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: { a: { $ref: '#/$defs/b' } },
        $defs: { b: { type: 'x' } },
      },
      '/$defs/b/type',
    ],
    [
      { type: 'object', properties: { a: { $ref: '#/x-types/b' } }, 'x-types': { b: { type: 'x' } } },
      '/x-types/b/type',
    ],
  ])('T95 is invalid in its own dialect: %j', (schema, pointer) =>
    expect(fault(schema)).toEqual(['invalid_schema', pointer]),
  );

  it('is only what stands where schemas stand', () => {
    const data = { $ref: 'https://example.com/a', type: 'nonsense', $schema: 'x', pattern: '(' };
    const schema = {
      type: 'object',
      default: data,
      properties: { $ref: { const: data, enum: [data], examples: [data] }, pattern: {} },
    };
    expect(fault(schema)).toBe('good');
  });

  it('has regular expressions that compile, with the flag of JSON Schema where clients compile them', () => {
    const schema = (pattern: string) => ({ type: 'object', properties: { a: { pattern } } });
    expect(fault(schema('('))).toEqual(['invalid_pattern', '/properties/a/pattern']);
    expect(fault(schema('a\\_b'))).toBe('good');
    expect(fault(schema('a\\_b'), 'output')).toEqual(['invalid_pattern', '/properties/a/pattern']);
    expect(fault({ type: 'object', patternProperties: { '[': {} } })).toEqual([
      'invalid_pattern',
      '/patternProperties',
    ]);
  });

  it('has parameters in headers that can be mirrored', () =>
    expect(fault({ type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } })).toEqual([
      'param_header',
      '',
    ]));
});

describe('the limits of a schema (T95)', () => {
  it('is 256 KiB at most', () => {
    const of = (bytes: number) => ({ type: 'object', description: 'x'.repeat(bytes) });
    expect(fault(of(MAX_SCHEMA_BYTES - 35))).toBe('good');
    expect(fault(of(MAX_SCHEMA_BYTES))).toEqual(['too_large', '']);
  });
  it('is 32 schemas deep at most', () => {
    expect(fault(nested(31))).toBe('good');
    expect(fault(nested(32))[0]).toBe('too_deep');
  });
  it('has 2000 schemas at most, those that say true or false too', () => {
    const of = (count: number, inner: unknown) => ({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, inner])),
    });
    expect(fault(of(1999, {}))).toBe('good');
    expect(fault(of(2000, {}))[0]).toBe('too_many_subschemas');
    expect(fault(of(2000, true))[0]).toBe('too_many_subschemas');
  });
  it('holds no data that is nested without end', () => {
    const deep = `{"type":"object","default":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(checkSchema(deep, JSON.parse(deep), 'input')).toMatchObject({ fault: { reason: 'too_deep' } });
  });
  it('is told in a moment where its own dialect would compare a hundred thousand values with each other', () => {
    const values = Array.from({ length: 20_000 }, (_, i) => ({ i }));
    const schema = {
      $schema: 'http://json-schema.org/draft-06/schema#',
      type: 'object',
      properties: { a: { enum: values } },
    };
    expect(fault(schema)).toBe('good');
  });
});

describe('the references of a schema', () => {
  const withRef = ($ref: unknown, more: object = {}) => ({ type: 'object', properties: { p: { $ref } }, ...more });

  it.each<[unknown, object]>([
    ['#', {}],
    ['', {}],
    ['#/properties/p', { properties: { p: { type: 'string' }, q: { $ref: '#/properties/p' } } }],
    ['#/$defs/a~1b~0c', { $defs: { 'a/b~c': {} } }],
    ['#/$defs/a%20b', { $defs: { 'a b': {} } }],
    ['#/$defs/ä', { $defs: { ä: {} } }],
    ['#/$defs/__proto__', { $defs: JSON.parse('{"__proto__":{}}') as object }],
    ['#/x-own/0', { 'x-own': [{ type: 'string' }] }],
    ['#name', { $defs: { a: { $anchor: 'name' } } }],
    ['item', { $defs: { a: { $id: 'item' } } }],
    ['https://example.com/item', { $id: 'https://example.com/tool', $defs: { a: { $id: 'item' } } }],
    ['item#/$defs/b', { $defs: { a: { $id: 'item', $defs: { b: {} } } } }],
    ['item#name', { $defs: { a: { $id: 'item', $defs: { b: { $anchor: 'name' } } } } }],
    ['#/$defs/yes', { $defs: { yes: true } }],
  ])('lead to a schema of the document: %s', ($ref, more) => expect(fault(withRef($ref, more))).toBe('good'));

  it.each([
    '#/$defs/none',
    '#/definitions/a',
    '#none',
    'other.json',
    '#/$defs/a/type',
    '#/properties',
    '#/required/00',
    '#/constructor',
    '//host/x',
  ])('P34 dangle: %s', ($ref) =>
    // What stands under `$defs` is not looked for under `definitions`: nothing is guessed.
    expect(fault(withRef($ref, { $defs: { a: { type: 'string' } }, required: ['p'] }))).toEqual(
      $ref === '#/properties' ? 'good' : ['dangling_reference', '/properties/p'],
    ),
  );

  it.each([
    'https://example.com/schema.json',
    'http://169.254.169.254/latest/meta-data',
    'file:///etc/passwd',
    'https://json-schema.org/draft/2020-12/schema',
  ])('never leave the document: %s', ($ref) =>
    expect(fault(withRef($ref))).toEqual(['network_reference', '/properties/p']),
  );
  it('never leave it from a base of its own either', () =>
    expect(fault(withRef('other', { $id: 'https://example.com/tool' }))).toEqual([
      'network_reference',
      '/properties/p',
    ]));
  it.each(['$dynamicRef', '$recursiveRef'])('are those of %s too', (keyword) =>
    expect(fault({ type: 'object', properties: { p: { [keyword]: '#none' } } })).toEqual([
      'dangling_reference',
      '/properties/p',
    ]),
  );
  it('are looked at in what only a reference reaches', () =>
    expect(fault(withRef('#/x-own/a', { 'x-own': { a: { items: { $ref: '#/none' } } } }))).toEqual([
      'dangling_reference',
      '/x-own/a/items',
    ]));

  it.each([
    [{ $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
    [{ $defs: { a: { $ref: '#/$defs/a' } } }],
    [{ allOf: [{ $ref: '#' }] }],
    [{ $ref: '#' }],
  ])('never turn in a ring that reaches no schema: %j', (more) =>
    expect(fault({ type: 'object', ...more })[0]).toBe('reference_ring'),
  );
  it('P33 may lead back to themselves by way of a value, as in a tree', () =>
    expect(
      fault({
        type: 'object',
        properties: { children: { items: { $ref: '#' } } },
        anyOf: [{ $ref: '#/$defs/a' }],
        $defs: { a: {} },
      }),
    ).toBe('good'));

  it('are told apart: two schemas of one name are a fault', () => {
    expect(fault({ type: 'object', $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x' } } })[0]).toBe(
      'duplicate_identifier',
    );
    expect(fault({ type: 'object', $defs: { a: { $id: 'x' }, b: { $id: 'x' } } })[0]).toBe('duplicate_identifier');
    expect(fault({ type: 'object', $defs: { a: { $id: 'x', $anchor: 'y' }, b: { $anchor: 'y' } } })).toBe('good');
  });
  it('stand alone in draft-07, where an `$id` beside them names nothing', () => {
    const $schema = 'http://json-schema.org/draft-07/schema#';
    expect(fault({ $schema, type: 'object', properties: { p: { $id: 'x', $ref: '#n' }, q: { $id: '#n' } } })).toBe(
      'good',
    );
    expect(fault({ $schema, type: 'object', properties: { p: { $dynamicRef: '#none' } } })).toBe('good');
  });
});
