import { describe, expect, it } from '@jest/globals';
import { classify, decodeHeader, META, MODERN_METHODS } from './envelope.js';

const V = '2026-07-28';
const meta = { [META.version]: V, [META.capabilities]: {} };
const call = (params: object = {}, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'echo', _meta: meta, ...params },
  ...more,
});
const headers = (more: Record<string, string | undefined> = {}) => ({
  'mcp-protocol-version': V,
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
  ...more,
});
const fault = (code: number, status = 400) => expect.objectContaining({ kind: 'fault', code, status });

describe('the body decides the era', () => {
  const legacy = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
  const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
  it.each([
    ['a request without the key and without a header is legacy', legacy, {}, { kind: 'legacy' }],
    [
      'a request without the key and with a legacy header is legacy',
      legacy,
      { 'mcp-protocol-version': '2025-06-18' },
      { kind: 'legacy' },
    ],
    [
      'a header that names no revision is refused with the list',
      legacy,
      { 'mcp-protocol-version': '1999-01-01' },
      fault(-32600),
    ],
    [
      'a request without the key and with the modern header lacks its envelope',
      legacy,
      { 'mcp-protocol-version': V },
      fault(-32602),
    ],
    ['initialize is the legacy handshake', initialize, {}, { kind: 'legacy' }],
    ['initialize with the modern header contradicts itself', initialize, { 'mcp-protocol-version': V }, fault(-32020)],
    ['a notification without the key is legacy', notification, {}, { kind: 'legacy' }],
    [
      'a notification with the modern header is modern',
      notification,
      { 'mcp-protocol-version': V },
      { kind: 'notification', method: notification.method },
    ],
    ['a response is legacy', { jsonrpc: '2.0', id: 1, result: {} }, {}, { kind: 'legacy' }],
    [
      'an error response is legacy',
      { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } },
      {},
      { kind: 'legacy' },
    ],
    [
      'an unknown version in the body is still the modern ladder',
      call({ _meta: { ...meta, [META.version]: '2027-01-01' } }),
      headers({ 'mcp-protocol-version': '2027-01-01' }),
      fault(-32022),
    ],
    [
      'a version that is no string is never legacy',
      call({ _meta: { ...meta, [META.version]: 7 } }),
      headers(),
      fault(-32602),
    ],
  ])('%s', (_rule, body, given, expected) => {
    expect(classify(body, given)).toEqual(expected);
  });

  it('names the keys that are missing', () => {
    expect(classify(legacy, { 'mcp-protocol-version': V })).toMatchObject({
      id: 1,
      data: { envelope: { missing: [META.version, META.capabilities] } },
    });
    expect(classify(call({ _meta: { [META.version]: V } }), headers())).toMatchObject({
      code: -32602,
      data: { envelope: { missing: [META.capabilities] } },
    });
  });
});

describe('what is no message', () => {
  it.each([
    ['P23 an empty array', []],
    ['P23 a text', 'x'],
    ['P23 a number', 42],
    ['null', null],
    ['P19 a null id', call({}, { id: null })],
    ['a fractional id', call({}, { id: 1.5 })],
    ['an object as id', call({}, { id: {} })],
    ['another jsonrpc', call({}, { jsonrpc: '1.0' })],
    ['a method that is no text', call({}, { method: 7 })],
    ['an object that is nothing', { jsonrpc: '2.0', id: 1 }],
  ])('%s is 400 -32600 and never a notification', (_rule, body) => {
    expect(classify(body, headers())).toEqual(fault(-32600));
  });

  it('P19 a null id is not echoed, since the schema knows none', () => {
    expect(classify(call({}, { id: null }), headers())).not.toHaveProperty('id');
  });

  it('P23 a notification method that carries an id is a request', () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'notifications/cancelled', params: { _meta: meta } };
    expect(classify(body, headers({ 'mcp-method': 'notifications/cancelled' }))).toEqual(fault(-32601, 404));
  });
});

describe('batches', () => {
  const batch = [
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 2, method: 'ping' },
  ];
  const session = { 'mcp-session-id': 's' };
  it('P20 are refused with one error outside a session', () => expect(classify(batch, {})).toEqual(fault(-32600)));
  it('P20 are refused under a revision that has none', () =>
    expect(classify(batch, { ...session, 'mcp-protocol-version': '2025-06-18' })).toEqual(fault(-32600)));
  it('P22 go to the session of 2025-03-26', () =>
    expect(classify(batch, { ...session, 'mcp-protocol-version': '2025-03-26' })).toEqual({ kind: 'legacy' }));
  it('may not hold an initialize', () =>
    expect(classify([...batch, { jsonrpc: '2.0', id: 3, method: 'initialize' }], session)).toEqual(fault(-32600)));
  it('may not hold a modern request', () => expect(classify([call()], session)).toEqual(fault(-32600)));
});

describe('headers cross-check the body', () => {
  it.each<[string, object, Record<string, string | undefined>, unknown]>([
    ['all right', call(), headers(), expect.objectContaining({ kind: 'request', id: 1, method: 'tools/call' })],
    [
      'spaces and tabs around a value do not count',
      call(),
      headers({ 'mcp-name': ' \techo ' }),
      expect.objectContaining({ kind: 'request' }),
    ],
    ['no version header', call(), headers({ 'mcp-protocol-version': undefined }), fault(-32020)],
    ['another version header', call(), headers({ 'mcp-protocol-version': '2025-11-25' }), fault(-32020)],
    ['no method header', call(), headers({ 'mcp-method': undefined }), fault(-32020)],
    ['another method header', call(), headers({ 'mcp-method': 'tools/list' }), fault(-32020)],
    ['a method header in another case', call(), headers({ 'mcp-method': 'Tools/Call' }), fault(-32020)],
    ['no name header', call(), headers({ 'mcp-name': undefined }), fault(-32020)],
    ['another name header', call(), headers({ 'mcp-name': 'other' }), fault(-32020)],
    ['a name header without a name', call({ name: undefined }), headers(), fault(-32020)],
    [
      'neither name nor name header',
      call({ name: undefined }),
      headers({ 'mcp-name': undefined }),
      expect.objectContaining({ kind: 'request' }),
    ],
    [
      'a name in Base64',
      call({ name: 'écho' }),
      headers({ 'mcp-name': '=?base64?w6ljaG8=?=' }),
      expect.objectContaining({ kind: 'request' }),
    ],
    ['a name in broken Base64', call(), headers({ 'mcp-name': '=?base64?w6ljaG8?=' }), fault(-32020)],
    ['a name that is not visible ASCII', call({ name: 'écho' }), headers({ 'mcp-name': 'écho' }), fault(-32020)],
    [
      'unsupported goes before missing headers',
      call({ _meta: { ...meta, [META.version]: '2027-01-01' } }),
      { 'mcp-protocol-version': '2027-01-01' },
      fault(-32022),
    ],
  ])('%s', (_rule, body, given, expected) => {
    expect(classify(body, given)).toEqual(expected);
  });

  it('a mismatch names header, header value and body value', () => {
    expect(classify(call(), headers({ 'mcp-name': 'other' }))).toMatchObject({
      message: 'Header Mcp-Name (header "other") differs from the body; the body holds "echo"',
      data: { mismatch: { header: 'other', body: 'echo' } },
    });
  });

  it('an unsupported version is answered with what is supported and what was asked', () => {
    const version = '2027-01-01';
    expect(
      classify(call({ _meta: { ...meta, [META.version]: version } }), headers({ 'mcp-protocol-version': version })),
    ).toMatchObject({
      data: { supported: [V], requested: version },
    });
  });
});

describe('_meta of a modern request', () => {
  it.each([
    ['capabilities that are no object', { [META.capabilities]: 'x' }],
    ['an unknown log level', { [META.logLevel]: 'loud' }],
    ['a progress token that is neither text nor integer', { progressToken: 1.5 }],
  ])('%s is -32602', (_rule, wrong) => {
    expect(classify(call({ _meta: { ...meta, ...wrong } }), headers())).toEqual(fault(-32602));
  });
});

it('P74 an unknown method is 404 -32601 in the modern era', () => {
  for (const method of ['foo/bar', 'initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'tasks/list']) {
    expect(MODERN_METHODS.has(method)).toBe(false);
    const body = { jsonrpc: '2.0', id: 1, method, params: { _meta: meta } };
    expect(classify(body, headers({ 'mcp-method': method }))).toEqual(fault(-32601, 404));
  }
});

it('P16 an id comes back with its type', () => {
  for (const id of [1, '1', 0, '', -7, 'a b']) expect(classify(call({}, { id }), headers())).toHaveProperty('id', id);
});

describe('the Base64 sentinel', () => {
  it.each([
    ['plain', 'plain'],
    ['=?base64?YWJj?=', 'abc'],
    ['=?BASE64?YWJj?=', '=?BASE64?YWJj?='],
    ['=?base64?YWJj', '=?base64?YWJj'],
    ['=?base64?YWJ?=', undefined],
    ['=?base64?//8=?=', undefined],
    ['=?base64??=', ''],
    ['a\u007f', undefined],
  ])('%j is %j', (given, expected) => expect(decodeHeader(given)).toBe(expected));
});
