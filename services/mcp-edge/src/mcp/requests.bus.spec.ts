import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { answerBroken } from '../http/broken-request.js';
import { type EdgeFixture, modernMeta, startEdge } from '../testing/edge-fixture.js';
import { ran, seen } from '../testing/sample-tools.js';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(async () => edge[Symbol.asyncDispose]());

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: modernMeta } };
const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };

describe('what is no message gets one clear refusal', () => {
  it.each([
    ['broken JSON', '{"jsonrpc":', -32700],
    ['an empty body', '', -32700],
    ['P20 a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]', -32600],
    ['P23 an empty array', '[]', -32600],
    ['P23 a text', '"x"', -32600],
    ['P23 a number', '42', -32600],
    ['P19 id null', JSON.stringify({ ...list, id: null }), -32600],
  ])('%s', async (_rule, body, code) => {
    const answer = await edge.post(body, modern);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ jsonrpc: '2.0', error: { code, message: expect.any(String) } });
  });

  it('P21 one object is answered with one object', async () => {
    const { text } = await edge.post(list, modern);
    expect(text.startsWith('{')).toBe(true);
  });

  it('a notification of the modern era is accepted and changes nothing', async () => {
    const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, _meta: modernMeta } };
    expect(await edge.post(body, modern)).toMatchObject({ status: 202, text: '' });
  });
});

describe('the door', () => {
  const status = async (headers: Record<string, string>, method = 'POST', path = '/mcp') =>
    new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>((resolve, reject) => {
      const req = request(edge.origin + path, { method, headers }, (res) => {
        let body = '';
        res.on('data', (chunk: Buffer) => (body += chunk.toString()));
        res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body }));
      });
      req.on('error', reject);
      req.end(method === 'POST' ? JSON.stringify(list) : undefined);
    });
  const json = { 'content-type': 'application/json' };

  it('refuses a foreign host before anything else', async () => {
    expect(await status({ ...json, host: '127.0.0.1.evil.example' })).toMatchObject({
      status: 403,
      body: '{"error":"forbidden_host"}',
    });
  });
  it('refuses a foreign origin before it asks who calls', async () => {
    expect(await status({ ...json, origin: 'https://evil.example' })).toMatchObject({
      status: 403,
      body: '{"error":"forbidden_origin"}',
    });
  });
  it('takes JSON only', async () => {
    expect((await status({ 'content-type': 'text/plain' })).status).toBe(415);
    expect((await status({})).status).toBe(415);
    expect((await edge.post(list, { ...modern, 'content-type': 'application/json; charset=utf-8' })).status).toBe(200);
  });
  it('answers clients that can read JSON or a stream, a bare curl too', async () => {
    for (const accept of ['*/*', 'application/json', 'text/event-stream', 'application/json, text/event-stream;q=0.5'])
      expect((await edge.post(list, { ...modern, accept })).status).toBe(200);
    expect(await edge.post(list, { ...modern, accept: 'text/html' })).toMatchObject({
      status: 406,
      body: { error: { code: 406 } },
    });
  });
  it('challenges who brings no token, with security headers on the refusal too', async () => {
    const answer = await status(json);
    expect(answer.status).toBe(401);
    expect(answer.headers).toMatchObject({
      'www-authenticate': expect.stringContaining('resource_metadata='),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    await eventually(async () =>
      expect(await edge.records()).toContainEqual(
        expect.objectContaining({
          type: 'AuthenticationRefused',
          reason: 'missing',
          ip_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
        }),
      ),
    );
  });
  it('says which methods a path takes, and that others do not exist', async () => {
    expect(await status(json, 'PUT')).toMatchObject({
      status: 405,
      headers: { allow: expect.stringContaining('POST') },
    });
    expect(await status({}, 'GET', '/nope')).toMatchObject({ status: 404, body: '{"error":"not_found"}' });
    expect((await status({}, 'GET', '/health')).status).toBe(200);
    expect((await status({}, 'GET', '/ready')).status).toBe(200);
    expect((await status({}, 'GET', '/metrics')).body).toContain('gw_tool_calls_total');
  });
  it('P62 answers a preflight before it asks for a token, and exposes headers on the real answer', async () => {
    const origin = 'http://localhost:6274';
    const preflight = await status(
      {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'mcp-protocol-version, mcp-method, mcp-name, authorization',
      },
      'OPTIONS',
    );
    expect(preflight).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': origin } });
    expect(String(preflight.headers['access-control-allow-headers']).toLowerCase()).toContain('mcp-name');
    const real = await edge.post(list, { ...modern, origin });
    expect(real.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id');
    expect((await status({ origin: 'https://evil.example' }, 'OPTIONS')).status).toBe(403);
  });
});

describe('limits', () => {
  const limit = 16 * 1024 * 1024;
  const raw = async (headers: Record<string, string>, write: (req: ReturnType<typeof request>) => void) => {
    const token = await edge.token();
    return new Promise<{ status: number; body: string }>((resolve, reject) => {
      const req = request(
        edge.url,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        },
        (res) => {
          let body = '';
          res.on('data', (chunk: Buffer) => (body += chunk.toString()));
          res.on('end', () => resolve({ status: res.statusCode ?? 0, body }));
        },
      );
      // After a refusal the server hangs up on what is still being sent.
      req.on(
        'error',
        (error: NodeJS.ErrnoException) => error.code === 'EPIPE' || error.code === 'ECONNRESET' || reject(error),
      );
      write(req);
    });
  };

  it('P67 T18 a body over the limit is 413 with the limit in the text, before it is read', async () => {
    const answer = await raw({ 'content-length': String(limit + 1) }, (req) => req.flushHeaders());
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.body)).toEqual({
      jsonrpc: '2.0',
      error: { code: 413, message: expect.stringContaining(String(limit)), data: { limit } },
    });
  });

  it('T18 a body of 17 MiB that does not say its size is cut off at the limit', async () => {
    const answer = await raw({ 'transfer-encoding': 'chunked' }, (req) => {
      const chunk = Buffer.alloc(1024 * 1024, 0x20);
      for (let i = 0; i < 17; i++) req.write(chunk);
      req.end();
    });
    expect(answer.status).toBe(413);
  });

  it('P68 a body of 5 MiB passes', async () => {
    const { status, body } = await edge.call('sample_echo', { text: 'x'.repeat(1_000_001), times: 1 });
    expect([status, body.result.isError, body.result._meta['cortex/error'].reason]).toEqual([200, true, 'too_large']);
    const big = await edge.call('sample_workspace', { workspace_id: 'w', title: 'x'.repeat(5 * 1024 * 1024) });
    expect(big.body.result._meta['cortex/error']).toMatchObject({ reason: 'workspace_not_found' });
  });

  it('T18 JSON nested 10,000 deep is refused at once', async () => {
    const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`;
    expect((await edge.post(deep, modern)).body.error).toMatchObject({
      code: -32600,
      message: expect.stringContaining('nested'),
    });
    // And what would overflow a parser that recurses.
    expect((await edge.post('['.repeat(4_000_000), modern)).body.error).toMatchObject({ code: -32700 });
  });

  it('T18 a member named __proto__ is refused and changes nothing', async () => {
    const body =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sample_echo","arguments":{"__proto__":{"polluted":true},"text":"x"}}}';
    expect((await edge.post(body, modern)).body.error).toMatchObject({
      code: -32600,
      message: expect.stringContaining('__proto__'),
    });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('T18 headers over the limit are refused', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(edge.origin).port), '127.0.0.1', () => {
        socket.write(`POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx-large: ${'x'.repeat(20_000)}\r\n\r\n`);
      });
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('error', reject);
      socket.on('close', () => resolve(text));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe('P15 P16 T11 answers go to who asked', () => {
  it('T11 1,000 callers with the same request id each get their own marker', async () => {
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, async (_, i) => {
        const { body } = await edge.call('sample_echo', { text: `mark-${i}` }, { id: 1, sdk: i % 10 === 0 });
        return body.result.structuredContent.text as string;
      }),
    );
    expect(answers).toEqual(Array.from({ length: 1_000 }, (_, i) => `mark-${i}`));
  });

  it('P16 ids 1 and "1" at once come back with their types', async () => {
    const [number, text] = await Promise.all([
      edge.call('sample_echo', { text: 'n' }, { id: 1 }),
      edge.call('sample_echo', { text: 't' }, { id: '1' }),
    ]);
    expect([number.body.id, number.body.result.structuredContent.text]).toEqual([1, 'n']);
    expect([text.body.id, text.body.result.structuredContent.text]).toEqual(['1', 't']);
  });
});

describe('what is no request', () => {
  /** Everything that comes back for these bytes until the connection ends. */
  const sent = (bytes: string) =>
    new Promise<string>((resolve) => {
      let got = '';
      const socket = connect(Number(new URL(edge.origin).port), '127.0.0.1', () => socket.write(bytes));
      socket.setEncoding('utf8').on('data', (text: string) => (got += text));
      socket.on('error', () => undefined).on('close', () => resolve(got));
    });

  it.each([
    ['is no HTTP', 'hello\r\n\r\n', 400, 'malformed_request'],
    [
      'has two lengths',
      'POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
      'malformed_request',
    ],
    [
      'has headers without end',
      `GET / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
  ])('T18 %s: refused in the words of the edge', async (_, bytes, status, error) => {
    const [head = '', body] = (await sent(bytes)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toContain('X-Content-Type-Options: nosniff');
    expect(body).toBe(JSON.stringify({ error }));
  });

  it('T18 a client that is too slow is told so, and nothing once an answer has begun', () => {
    const said: string[] = [];
    const socket = (bytesWritten: number) => ({
      writable: true,
      bytesWritten,
      end: (text: string) => void said.push(text),
      destroy: () => void said.push('destroyed'),
    });
    const slow = Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    answerBroken(slow, socket(0) as never);
    answerBroken(slow, socket(10) as never);
    expect(said).toEqual([expect.stringMatching(/^HTTP\/1.1 408 [^]*\{"error":"request_timeout"\}$/), 'destroyed']);
  });

  it('a path that is no URL, and a body without a type, are answered like any other', async () => {
    expect(await sent('GET /%ff HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1.1 404 [^]*\r\n\r\n\{"error":"not_found"\}$/,
    );
    const fastify = edge.app.get(HttpAdapterHost).httpAdapter.getInstance() as FastifyInstance;
    // Listeners that the framework adds by itself come in by its own routing.
    expect((await fastify.inject({ url: '/%ff' })).body).toBe('{"error":"not_found"}');
    const token = await edge.token();
    const untyped = { authorization: `Bearer ${token}`, host: new URL(edge.origin).host };
    const { statusCode, body } = await fastify.inject({
      method: 'POST',
      url: '/mcp',
      headers: untyped,
      payload: Buffer.from('{}'),
    });
    expect([statusCode, JSON.parse(body)]).toEqual([
      415,
      { jsonrpc: '2.0', error: { code: 415, message: expect.any(String) } },
    ]);
  });
});

describe('clients that vanish', () => {
  it('P65 closing the connection cancels the call in its service, and the record says so', async () => {
    const gone = new AbortController();
    const answer = edge.call('sample_slow', { ms: 15_000, mark: 'gone' }, { signal: gone.signal });
    await eventually(() => ran('sample_slow') > 0);
    gone.abort();
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    await eventually(() => seen.cancelled.has('gone'));
    expect(await edge.finished({ outcome: 'cancelled', tool: 'sample_slow' })).toMatchObject({
      error_kind: 'cancelled',
    });
  });

  it('one that sends half a body leaves nothing behind', async () => {
    const token = await edge.token();
    const before = edge.edge.route.active;
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(edge.origin).port), '127.0.0.1', () => {
        socket.write(
          `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"jsonrpc"`,
        );
        setTimeout(() => resolve(void socket.destroy()), 50);
      });
    });
    await eventually(() => edge.edge.route.active === before);
    expect((await edge.ask('tools/list')).status).toBe(200);
  });
});
