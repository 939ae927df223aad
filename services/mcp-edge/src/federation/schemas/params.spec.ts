import { expect, it } from '@jest/globals';
import { schemaOfParams } from './params.js';

it('writes the shorthand out', () =>
  expect(schemaOfParams({ query: 'string', tags: 'string[]?' })).toMatchObject({
    text: '{"type":"object","properties":{"query":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["query"]}',
  }));

it.each(['string', 'number', 'boolean', 'integer'])('knows %s, alone and as a list', (type) =>
  expect(schemaOfParams({ a: type, b: `${type}?`, c: `${type}[]`, d: `${type}[]?` })).toMatchObject({
    value: {
      properties: {
        a: { type },
        b: { type },
        c: { type: 'array', items: { type } },
        d: { type: 'array', items: { type } },
      },
      required: ['a', 'c'],
    },
  }),
);

it.each([undefined, {}])('makes an object without properties of %j', (params) =>
  expect(schemaOfParams(params)).toMatchObject({ text: '{"type":"object","properties":{}}' }),
);

it.each(['text', 'string?[]', 'string[][]', '', 7, null, { type: 'string' }])(
  'refuses an unknown type: %j',
  (shorthand) =>
    expect(schemaOfParams({ a: shorthand })).toMatchObject({ fault: expect.stringContaining('params.a is ') }),
);
it.each([[[]], ['string'], [7], [null]])('refuses params that are no object: %j', (params) =>
  expect(schemaOfParams(params)).toHaveProperty('fault'),
);

it('takes a parameter of any name', () => {
  const params = JSON.parse('{"__proto__":"string","constructor":"integer?"}') as unknown;
  expect(schemaOfParams(params)).toMatchObject({
    text: '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"integer"}},"required":["__proto__"]}',
  });
});
