import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { ran } from '../testing/sample-tools.js';
import { ROUTES } from './routes.js';

const SECRET = 'the-servers-own-secret';
const MIB = 1024 * 1024;

let edge: EdgeFixture;
let port: number;
beforeAll(async () => {
  edge = await startEdge({ env: { CORTEX_WEBHOOK_TOKEN: SECRET } });
  port = edge.edge.webhooks.port;
});
afterAll(async () => edge[Symbol.asyncDispose]());

/** A connection on which anything can be written; `status` of every answer that has come on it. */
async function connection(host = '127.0.0.1') {
  const socket: Socket = connect(port, host);
  await once(socket, 'connect');
  let text = '';
  let ended = false;
  socket.on('data', (chunk: Buffer) => void (text += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  socket.on('close', () => void (ended = true));
  return {
    socket,
    get text() {
      return text;
    },
    get ended() {
      return ended;
    },
    statuses: () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)),
    /** Writes it; resolves when there is room for more, or nobody takes it any more. */
    async send(bytes: Buffer): Promise<void> {
      if (!socket.write(bytes)) await eventually(() => ended || socket.writableLength === 0);
    },
    /** Resolves with the status of the n-th answer. */
    answer(n = 1): Promise<number> {
      return eventually(() => this.statuses()[n - 1] ?? Promise.reject(new Error('no answer yet')));
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

const head = (path: string, fields: Record<string, string | number> = {}, method = 'POST'): string => {
  const all = { Host: `127.0.0.1:${port}`, 'Content-Type': 'application/json', 'x-cortex-token': SECRET, ...fields };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n');
};
const whole = (path: string, body: string, fields: Record<string, string | number> = {}): string =>
  head(path, { 'Content-Length': Buffer.byteLength(body), ...fields }) + body;

async function statusOf(request: string): Promise<number> {
  using open = await connection();
  open.socket.write(request);
  // Awaited here: with the return the connection is let go.
  return await open.answer();
}
const CALL = JSON.stringify({ tool: 'sample_echo', arguments: { text: 'x' } });

describe('who may speak at all', () => {
  it.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:3001', '0.0.0.0', '169.254.169.254', ''])(
    'T07 a Host that is no loopback name is refused: %j',
    async (Host) => expect([400, 403]).toContain(await statusOf(whole('/webhook/cost-query', '{}', { Host }))),
  );
  it.each(['127.0.0.1', 'localhost:3001', '[::1]:3001', 'LOCALHOST'])('a loopback name is one: %s', async (Host) =>
    expect(await statusOf(whole('/webhook/cost-query', '{}', { Host }))).toBe(200),
  );
  it.each(['http://127.0.0.1:3001', 'http://localhost', 'null', 'https://evil.example'])(
    'T07 any Origin is refused on every route, its preflight too and without a word of CORS: %s',
    async (Origin) => {
      for (const path of [...Object.keys(ROUTES), '/nothing'])
        for (const method of ['POST', 'OPTIONS', 'GET']) {
          using open = await connection();
          open.socket.write(head(path, { Origin, 'Content-Length': 0 }, method));
          expect(await open.answer()).toBe(403);
          expect(open.text).not.toMatch(/access-control/i);
        }
    },
  );
  it('T07 what a page can send without a preflight is refused: forms and texts', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])
      for (const path of ['/webhook/signal', '/webhook/tool'])
        expect(await statusOf(whole(path, '{}', { 'Content-Type': type }))).toBe(415);
  });
  it('it listens on 127.0.0.1 and on no other address', async () => {
    const others = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .map(({ address, scopeid }) => (scopeid ? '::1' : address))
      .filter((address) => address !== '127.0.0.1');
    for (const address of new Set([...others, '::1', '127.0.0.2']))
      await expect(connection(address)).rejects.toMatchObject({
        code: expect.stringMatching(/ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH/),
      });
  });
});

describe('a token', () => {
  it.each(['', ' ', SECRET.slice(0, -1), `${SECRET} `.repeat(2), 'Bearer x', 'a'.repeat(200), '\u00ff'])(
    'that is none is 401, whatever it looks like, and nothing runs: %j',
    async (token) => {
      const before = ran('sample_echo');
      expect(await statusOf(whole('/webhook/tool', CALL, { 'x-cortex-token': token }))).toBe(401);
      expect(ran('sample_echo')).toBe(before);
    },
  );
  it('of a person opens nothing here', async () => {
    const token = await edge.token();
    expect(await statusOf(whole('/webhook/cost-query', '{}', { 'x-cortex-token': token }))).toBe(401);
    expect(
      await statusOf(whole('/webhook/cost-query', '{}', { 'x-cortex-token': '', Authorization: `Bearer ${token}` })),
    ).toBe(401);
  });
  it('is in no log line and in no record, right or wrong', async () => {
    const wrong = 'canary-of-a-wrong-token';
    await statusOf(whole('/webhook/tool', CALL, { 'x-cortex-token': wrong }));
    await statusOf(whole('/webhook/tool', '{"tool":', {}));
    const kept = JSON.stringify([edge.app.log, await edge.records()]);
    expect(kept).not.toContain(wrong);
    expect(kept).not.toContain(SECRET);
  });
  it('a flood of wrong ones keeps nobody else out and does not fill the log', async () => {
    using open = await connection();
    const flood = 200;
    for (let i = 0; i < flood; i++) open.socket.write(whole('/webhook/tool', '{}', { 'x-cortex-token': `wrong-${i}` }));
    await open.answer(flood);
    expect(new Set(open.statuses())).toEqual(new Set([401]));
    expect(await statusOf(whole('/webhook/cost-query', '{}'))).toBe(200);
    const refusals = (await edge.records()).filter(({ type }) => type === 'AuthenticationRefused');
    expect(refusals.length).toBeLessThanOrEqual(60);
  });
});

describe('a body', () => {
  it.each(['', '{', '[]', '"text"', 'null', '1', '{"a":1}}', '{"__proto__":{}}', '['.repeat(1_000)])(
    'that is no JSON object is 400 on every route: %j',
    async (body) => {
      for (const path of [
        '/webhook/signal',
        '/webhook/tool',
        '/webhook/usage',
        '/webhook/waitpoint',
        '/webhook/cost-query',
      ])
        expect(await statusOf(whole(path, body))).toBe(400);
    },
  );
  it('of a signal ends at 64 KiB: 413 for the announced and the counted one, one byte less is read', async () => {
    const body = (size: number): string => {
      const frame = JSON.stringify({ id: 'wp_1', secret: 's', data: '' });
      return frame.replace('"data":""', `"data":"${'x'.repeat(size - frame.length)}"`);
    };
    expect(await statusOf(whole('/webhook/signal', body(64 * 1024 + 1)))).toBe(413);
    // Nobody has the service of waitpoints here: it was read, and then there was nobody to judge it.
    expect(await statusOf(whole('/webhook/signal', body(64 * 1024)))).toBe(503);
    using open = await connection();
    const chunk = 'x'.repeat(16 * 1024);
    open.socket.write(head('/webhook/signal', { 'Transfer-Encoding': 'chunked' }));
    for (let i = 0; i < 5; i++) open.socket.write(`4000\r\n${chunk}\r\n`);
    expect(await open.answer()).toBe(413);
  });
  it('of 100 MiB is refused at once, announced or not, and the connection ends before all of it was taken', async () => {
    for (const chunked of [false, true]) {
      using open = await connection();
      open.socket.write(
        head('/webhook/tool', chunked ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': 100 * MIB }),
      );
      const block = Buffer.alloc(MIB, 'x');
      const bytes = chunked ? Buffer.concat([Buffer.from('100000\r\n'), block, Buffer.from('\r\n')]) : block;
      for (let i = 0; i < 100 && !open.ended; i++) await open.send(bytes);
      await eventually(() => open.ended);
      expect(open.statuses()).toEqual([413]);
    }
  });
  it('that came with a wrong token is not read, and ends the connection when it is endless', async () => {
    using open = await connection();
    open.socket.write(head('/webhook/tool', { 'x-cortex-token': 'wrong', 'Content-Length': 100 * MIB }));
    expect(await open.answer()).toBe(401);
    const block = Buffer.alloc(MIB, 'x');
    while (!open.ended) await open.send(block);
  });
  it('that stops halfway holds nothing but its own connection', async () => {
    const slow = await Promise.all(Array.from({ length: 50 }, () => connection()));
    for (const { socket } of slow) socket.write(`${head('/webhook/tool', { 'Content-Length': 1_000 })}{"tool":`);
    expect(await statusOf(whole('/webhook/cost-query', '{}'))).toBe(200);
    await eventually(() => edge.edge.webhooks.active === 50);
    for (const { socket } of slow) socket.destroy();
    await eventually(() => edge.edge.webhooks.active === 0);
  });
});

describe('a request', () => {
  it('to another path is 404, with another method 405 and the one that it takes', async () => {
    for (const path of [
      '/',
      '/webhook',
      '/webhook/',
      '/webhook/tools',
      '/webhook/__proto__',
      '/mcp',
      '/metrics',
      '/webhook/tool/x',
    ])
      expect(await statusOf(whole(path, '{}'))).toBe(404);
    expect(await statusOf(whole('http://127.0.0.1/webhook/tool', '{}'))).toBe(404);
    for (const [path, { method }] of Object.entries(ROUTES))
      for (const other of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((name) => name !== method)) {
        using open = await connection();
        open.socket.write(head(path, { 'Content-Length': 0 }, other));
        expect(await open.answer()).toBe(405);
        expect(open.text).toMatch(new RegExp(`^Allow: ${method}\r$`, 'im'));
      }
  });
  it('may follow a refused one on the same connection', async () => {
    using open = await connection();
    const refused = [
      whole('/nothing', '{}'),
      whole('/webhook/tool', '{}', { 'x-cortex-token': 'wrong' }),
      whole('/webhook/tool', '{'),
      whole('/webhook/signal', 'x'.repeat(70_000)),
      whole('/webhook/tool', '{}', { 'Content-Type': 'text/plain' }),
    ];
    for (const [i, request] of refused.entries()) {
      open.socket.write(request);
      await open.answer(i + 1);
    }
    open.socket.write(whole('/webhook/cost-query', '{}'));
    expect(await open.answer(refused.length + 1)).toBe(200);
    expect(open.statuses()).toEqual([404, 401, 400, 413, 415, 200]);
  });
  it('with too many headers or none that can be read is refused by its connection alone', async () => {
    const flood = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`x-flood-${i}`, 'y'.repeat(100)]));
    expect(await statusOf(whole('/webhook/cost-query', '{}', flood))).toBe(431);
    expect(await statusOf('POST /webhook/tool HTTP/1.1\r\nbroken\r\n\r\n')).toBe(400);
    expect(await statusOf('\u0016\u0003\u0001 hello, this is TLS\r\n\r\n')).toBe(400);
    expect(await statusOf(whole('/webhook/cost-query', '{}'))).toBe(200);
  });
  it('smuggled behind another one by two lengths is refused', async () => {
    const both = head('/webhook/cost-query', { 'Content-Length': 2, 'Transfer-Encoding': 'chunked' });
    using open = await connection();
    open.socket.write(`${both}0\r\n\r\n${whole('/webhook/tool', CALL)}`);
    expect(await open.answer()).toBe(400);
    expect(open.statuses()).toEqual([400]);
  });
});
