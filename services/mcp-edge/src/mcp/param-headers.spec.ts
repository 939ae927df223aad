import { describe, expect, it } from '@jest/globals';
import { checkParamHeaders, paramHeadersOf } from './param-headers.js';

const schema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    where: { type: 'object', properties: { shard: { type: 'integer', 'x-mcp-header': 'Shard' } } },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
  },
};
const declared = paramHeadersOf(schema);
const check = (args: unknown, headers: Record<string, string>) => {
  if (!Array.isArray(declared)) throw new Error(declared.invalid);
  return checkParamHeaders(declared, args, headers, 1);
};

it('annotated parameters are found through properties', () => {
  expect(declared).toEqual([
    { name: 'Region', path: ['region'], type: 'string' },
    { name: 'Shard', path: ['where', 'shard'], type: 'integer' },
    { name: 'Dry', path: ['dry'], type: 'boolean' },
  ]);
});

describe('an annotation drops its tool when', () => {
  const one = (annotated: object) => paramHeadersOf({ type: 'object', properties: { a: annotated } });
  it.each([
    ['the name is no token', one({ type: 'string', 'x-mcp-header': 'a b' })],
    ['the name is empty', one({ type: 'string', 'x-mcp-header': '' })],
    ['it is on a number', one({ type: 'number', 'x-mcp-header': 'A' })],
    ['it is in an array', one({ type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } })],
    ['it is in a composition', one({ anyOf: [{ type: 'string', 'x-mcp-header': 'A' }] })],
    [
      'a name is used twice in another case',
      paramHeadersOf({
        properties: { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
      }),
    ],
  ])('%s', (_rule, found) => expect(found).toHaveProperty('invalid'));
});

describe('a parameter header', () => {
  it.each<[string, unknown, Record<string, string>, boolean]>([
    ['mirrors a text', { region: 'eu' }, { 'mcp-param-region': 'eu' }, true],
    ['may be Base64', { region: 'é' }, { 'mcp-param-region': '=?base64?w6k=?=' }, true],
    ['compares integers as numbers', { where: { shard: 42 } }, { 'mcp-param-shard': '42.0' }, true],
    ['compares booleans as words', { dry: true }, { 'mcp-param-dry': 'true' }, true],
    ['is not expected for null', { region: null }, {}, true],
    ['is ignored where the argument is absent', {}, { 'mcp-param-region': 'eu' }, true],
    ['must be there', { region: 'eu' }, {}, false],
    ['must not differ', { region: 'eu' }, { 'mcp-param-region': 'us' }, false],
    ['takes plain decimals only', { where: { shard: 42 } }, { 'mcp-param-shard': '4.2e1' }, false],
    ['takes safe integers only', { where: { shard: 2 ** 53 } }, { 'mcp-param-shard': String(2 ** 53) }, false],
    ['must not be broken Base64', { region: 'é' }, { 'mcp-param-region': '=?base64?w6k?=' }, false],
  ])('%s', (_rule, args, headers, passes) => {
    const fault = check(args, headers);
    if (passes) expect(fault).toBeUndefined();
    else expect(fault).toMatchObject({ status: 400, code: -32020, id: 1 });
  });
});
