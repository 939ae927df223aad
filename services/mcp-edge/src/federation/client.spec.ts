import { createServer as createTcpServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing/eventually';
import { withBearer } from '../auth/bearer.js';
import { personCaller } from '../auth/caller.js';
import { json, type TestBackend, testBackend } from '../testing/backend.js';
import { BackendClient, type ClientOptions, headerText } from './client.js';
import type { Backend, BackendRequest, ListKind } from './types.js';

const said = {
  issuer: 'https://issuer',
  sub: 'zoë',
  client_id: 'app',
  email: 'zoe@example.com\r\nx-evil: 1',
  name: 'Zoë',
  pool: '',
  role: 'editor',
  scopes: new Set(['mcp:demo:read', 'mcp:cortex:read']),
  jti: 'j',
  exp: Infinity,
  audience: 'a',
};
const alice = withBearer(personCaller(said, 'per_1', 'person'), 'the-token-of-alice');

let backend: TestBackend;
let changed: ListKind[][];
let updated: string[];
const clients: BackendClient[] = [];
beforeEach(async () => {
  backend = await testBackend();
  changed = [];
  updated = [];
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await backend[Symbol.asyncDispose]();
});

const configured = (more: Partial<Backend> = {}): Backend => ({
  id: 'demo',
  url: backend.url,
  path: '/api/cortex/backend',
  prefix: 'demo_',
  scopePrefixes: ['mcp:demo:'],
  uriSchemes: ['demo'],
  timeoutMs: 400,
  technicalToken: 'technical',
  eventToken: undefined,
  tokenMode: 'passthrough',
  ownsTickets: false,
  actions: [],
  order: 0,
  ...more,
});
function clientOf(more: Partial<Backend> = {}, options: Partial<ClientOptions> = {}): BackendClient {
  const client = new BackendClient({
    backend: configured(more),
    maxBytes: 1024 * 1024,
    maxStreamMs: 1_500,
    listChanged: async (kinds) => void changed.push([...kinds]),
    resourceUpdated: (uri) => void updated.push(uri),
    ...options,
  });
  clients.push(client);
  return client;
}
/** 100 MB in 100 kB. */
const BOMB = gzipSync(Buffer.alloc(1e8));

const request = (more: Partial<BackendRequest> = {}): BackendRequest => ({
  method: 'work',
  params: '{}',
  as: alice,
  requestId: 'r1',
  ...more,
});
const ask = (more: Partial<BackendRequest> = {}, client = clientOf()) => client.call(request(more)).answer;

describe('what is sent', () => {
  beforeEach(() => {
    backend.answers['work'] = () => true;
  });

  it('is the caller`s own token, who it is, and one line per header whatever a claim holds', async () => {
    await ask({ idempotencyKey: 'k ü', traceparent: '00-1-2-01', tracestate: 'a=b', context: '{"era":"modern"}' });
    const { headers, context } = backend.asked[0]!;
    expect(headers).toMatchObject({
      authorization: 'Bearer the-token-of-alice',
      'accept-encoding': 'identity',
      'x-cortex-contract': '2',
      'x-cortex-request-id': 'r1',
      'x-cortex-user-id': 'zo%C3%AB',
      'x-cortex-user-email': 'zoe@example.comx-evil: 1',
      'x-cortex-user-role': 'editor',
      'x-cortex-scopes': 'mcp:cortex:read mcp:demo:read',
      'x-cortex-idempotency-key': 'k %C3%BC',
      traceparent: '00-1-2-01',
      tracestate: 'a=b',
    });
    expect(headers['x-evil']).toBeUndefined();
    expect(headers['x-cortex-user-pool']).toBeUndefined();
    expect(context).toEqual({ era: 'modern' });
  });

  it('P61 holds no token where the mode is none, and never one of another kind of call', async () => {
    await ask({}, clientOf({ tokenMode: 'none' }));
    expect(backend.asked[0]!.headers.authorization).toBeUndefined();
    expect(backend.asked[0]!.headers['x-cortex-user-id']).toBe('zo%C3%AB');
    await ask({ as: 'technical' });
    expect(backend.asked[1]!.headers.authorization).toBe('Bearer technical');
    expect(backend.asked[1]!.headers['x-cortex-user-id']).toBeUndefined();
  });

  it('P48 is well-formed whatever a text holds', () => {
    expect(headerText('a\u0000b\u0085c\ud800 ⁠d ')).toMatch(/^abc[\x20-\x7e]*d$/);
  });
});

describe('an answer', () => {
  const answered = async (handler: TestBackend['answers'][string], client = clientOf()) => {
    backend.answers['work'] = handler;
    return ask({}, client);
  };

  it('is the JSON as it was written, without the blanks between', async () => {
    const text = '{ "b": 1.0,\n "1": 12345678901234567890, "a": "x  \\" {y" }';
    expect(await answered((_asked, res) => void res.end(text))).toMatchObject({
      kind: 'result',
      native: false,
      text: '{"b":1.0,"1":12345678901234567890,"a":"x  \\" {y"}',
    });
  });

  it.each<[string, TestBackend['answers'][string], string]>([
    ['HTML', (_asked, res) => void res.end('<html>'), 'no JSON'],
    ['nothing', (_asked, res) => void res.end(), 'no JSON'],
    ['204', (_asked, res) => void res.writeHead(204).end(), 'status 204'],
    ['no UTF-8', (_asked, res) => void res.end(Buffer.from([34, 0xff, 34])), 'no JSON'],
    ['a redirect', (_asked, res) => void res.writeHead(307, { location: '/elsewhere' }).end('{}'), 'status 307'],
    ['headers without end', (_asked, res) => json(res, 200, {}, { big: 'x'.repeat(60_000) }), 'headers'],
    [
      'a packed body, however small it is',
      (_asked, res) => void res.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB),
      'packed (gzip)',
    ],
    [
      'more than it may hold, as its length says',
      (_asked, res) => void res.writeHead(200, { 'content-length': '1048577' }).write('{'),
      '1048576 bytes',
    ],
  ])('that is %s is invalid', async (_name, handler, why) => {
    expect(await answered(handler)).toEqual({ kind: 'invalid', why: expect.stringContaining(why) });
    expect(backend.asked).toHaveLength(1);
  });

  it('P70 of 100 MB without a length is cut off while it comes, and its connection closed', async () => {
    let written = 0;
    const answer = await answered((_asked, res) => {
      const chunk = Buffer.alloc(65_536, 32);
      const more = (): void => {
        while (!res.destroyed && written < 1e8 && res.write(chunk)) written += chunk.length;
        if (written >= 1e8) res.end('1');
      };
      res.on('drain', more);
      more();
    });
    expect(answer).toEqual({ kind: 'invalid', why: 'it has more than 1048576 bytes' });
    await backend.asked[0]!.closed;
    expect(written).toBeLessThan(5e7);
  });

  it('that comes too slowly is a timeout: a drip of bytes keeps no call alive', async () => {
    const drip = await answered((asked, res) => {
      res.write('[');
      const drops = setInterval(() => res.write(' '), 20);
      void asked.closed.then(() => clearInterval(drops));
    });
    expect(drip).toEqual({ kind: 'timeout', afterMs: 400 });
    await backend.asked[0]!.closed;
  });

  it('that ends before its length is an unknown outcome, one with more than its length is what its length says', async () => {
    const short = await answered((_asked, res) => {
      res.writeHead(200, { 'content-length': '100' });
      res.write('{"half":');
      res.socket?.end();
    });
    expect(short).toMatchObject({ kind: 'away', sent: true });
  });

  it('repeats no token of ours in an error', async () => {
    const answer = await answered(({ headers }, res) => json(res, 400, { error: `bad ${headers.authorization}` }));
    expect(JSON.stringify(answer)).not.toContain('the-token-of-alice');
    expect(answer).toMatchObject({ kind: 'refused', status: 400, error: 'bad Bearer [redacted:token]' });
  });

  it('tells which lists changed before it is given', async () => {
    await answered((_asked, res) => json(res, 200, {}, { 'x-cortex-list-changed': 'tools, nonsense,prompts' }));
    expect(changed).toEqual([['tools', 'prompts']]);
  });
});

describe('a backend that speaks no HTTP', () => {
  const raw = async (serve: (socket: Socket) => void) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => serve(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answer = await ask({}, clientOf({ url }));
    server.close();
    return answer;
  };
  const OK = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

  it('is invalid when it sends garbage', async () => {
    expect(await raw((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'))).toMatchObject({ kind: 'invalid' });
  });
  it('is invalid when it gives two lengths', async () => {
    const two = `${OK}content-length: 2\r\ncontent-length: 5\r\n\r\n{}   `;
    expect(await raw((socket) => socket.end(two))).toMatchObject({ kind: 'invalid' });
  });
  it('has nothing behind its length that could be the next answer', async () => {
    const long = `${OK}content-length: 2\r\n\r\n{}${OK}content-length: 6\r\n\r\n"evil"`;
    expect(await raw((socket) => socket.write(long))).toMatchObject({ kind: 'result', text: '{}' });
  });
});

describe('a stream of lines', () => {
  const lines =
    (...parts: (object | string)[]): TestBackend['answers'][string] =>
    (_asked, res) => {
      res.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
      res.end(parts.map((part) => (typeof part === 'string' ? part : `${JSON.stringify(part)}\n`)).join(''));
    };
  const told: unknown[] = [];
  const events = {
    progress: (update: unknown) => void told.push(update),
    log: (entry: unknown) => void told.push(entry),
    closeStream: () => void told.push('close'),
  };
  beforeEach(() => void told.splice(0));

  it('tells progress that rises, logs of a known level, changes, and gives its last line as the result', async () => {
    backend.answers['work'] = lines(
      { type: 'progress', progress: 1, total: 2, message: 'ü' },
      { type: 'progress', progress: 1 },
      { type: 'progress', progress: 'x' },
      { type: 'log', level: 'info', logger: 'l', data: { a: 1 } },
      { type: 'log', level: 'loud', data: 1 },
      '\r\n',
      { type: 'list_changed', kinds: ['resources', 'nonsense'] },
      { type: 'resource_updated', uri: 'demo:a' },
      { type: 'close_stream' },
      { type: 'of a later contract' },
      '{"type":"result", "native": true, "result": {"n": 1.0} }',
    );
    expect(await ask({ events })).toEqual({ kind: 'result', native: true, text: '{"n":1.0}', value: { n: 1 } });
    expect(told).toEqual([
      { progress: 1, total: 2, message: 'ü' },
      { level: 'info', logger: 'l', data: { a: 1 } },
      'close',
    ]);
    expect(changed).toEqual([['resources']]);
    expect(updated).toEqual(['demo:a']);
  });

  it('P26 that says of its lists ten thousand times that they changed has them asked for once, and once more', async () => {
    let seen!: () => void;
    const first = new Promise<void>((resolve) => (seen = resolve));
    const told: ListKind[][] = [];
    const client = clientOf({}, { listChanged: (kinds) => (told.push([...kinds]), first) });
    const said = Array.from({ length: 5_000 }, () => [
      { type: 'list_changed', kinds: ['tools'] },
      { type: 'list_changed', kinds: ['prompts'] },
    ]).flat();
    backend.answers['work'] = lines(...said, { type: 'result', result: 1 });
    expect(await ask({ events }, client)).toMatchObject({ kind: 'result', value: 1 });
    expect(told).toEqual([['tools']]);
    seen();
    await eventually(() => told.length > 1);
    expect(told).toEqual([['tools'], ['prompts', 'tools']]);
  });

  it('P26 that is a list is not asked for again because it says that it changed', async () => {
    backend.answers['list_tools'] = (_asked, res) =>
      json(res, 200, { tools: [] }, { 'x-cortex-list-changed': 'tools' });
    backend.answers['list_prompts'] = lines(
      { type: 'list_changed', kinds: ['prompts'] },
      { type: 'result', result: { prompts: [] } },
    );
    for (const method of ['list_tools', 'list_prompts'])
      expect(await ask({ method, as: 'technical' })).toMatchObject({ kind: 'result' });
    expect(changed).toEqual([]);
  });

  it('says how it failed by an error line', async () => {
    backend.answers['work'] = lines({ type: 'error', status: 403, error: 'no', required: 'mcp:demo:admin' });
    expect(await ask()).toMatchObject({ kind: 'refused', status: 403, error: 'no', required: 'mcp:demo:admin' });
  });

  it.each<[string, (object | string)[]]>([
    ['ends without a final line', [{ type: 'progress', progress: 1 }]],
    ['holds no JSON', ['nonsense\n']],
    ['holds what is no object', ['7\n']],
    ['has a result line without a result', [{ type: 'result' }]],
    ['has an error line without a status', [{ type: 'error', error: 'x' }]],
  ])('that %s is invalid', async (_how, parts) => {
    backend.answers['work'] = lines(...parts);
    expect(await ask()).toMatchObject({ kind: 'invalid' });
  });

  it('P64 may take longer than a call while it says something, and not longer than a stream', async () => {
    const steps =
      (last: number): TestBackend['answers'][string] =>
      (asked, res) => {
        res.writeHead(200, { 'content-type': 'application/x-ndjson' });
        let step = 0;
        const say = setInterval(() => {
          step++;
          res.write(
            `${JSON.stringify(step === last ? { type: 'result', result: step } : { type: 'progress', progress: step })}\n`,
          );
          if (step === last) res.end();
        }, 100);
        void asked.closed.then(() => clearInterval(say));
      };
    backend.answers['work'] = steps(8);
    expect(await ask({ events })).toMatchObject({ kind: 'result', text: '8' });
    backend.answers['work'] = steps(1_000);
    expect(await ask()).toEqual({ kind: 'timeout', afterMs: 1_500 });
    await backend.asked[1]!.closed;
  });

  it('is left behind its result, whatever else the backend has to say', async () => {
    backend.answers['work'] = (_asked, res) => {
      res.writeHead(200, { 'content-type': 'application/x-ndjson' });
      res.write('{"type":"result","result":1}\n{"type":"error","status":500}\n');
    };
    expect(await ask()).toMatchObject({ kind: 'result', text: '1' });
    await backend.asked[0]!.closed;
  });
});

describe('calls', () => {
  it('P65 that are cancelled close their connection', async () => {
    backend.answers['work'] = () => undefined;
    const pending = clientOf().call(request());
    await eventually(() => backend.asked.length === 1);
    pending.abort();
    expect(await pending.answer).toEqual({ kind: 'cancelled' });
    await backend.asked[0]!.closed;
  });

  it('P30 are 64 at most at one backend, which still answers for its lists', async () => {
    const client = clientOf({ timeoutMs: 5_000 });
    backend.answers['work'] = () => undefined;
    const under = Array.from({ length: 64 }, () => client.call(request()));
    expect(await client.call(request()).answer).toEqual({ kind: 'busy' });
    expect(await client.call(request({ method: 'list_tools', as: 'technical' })).answer).toMatchObject({
      kind: 'result',
    });
    for (const pending of under) pending.abort();
    await Promise.all(under.map(({ answer }) => answer));
    backend.answers['work'] = () => 'free again';
    expect(await client.call(request()).answer).toMatchObject({ kind: 'result' });
  });

  it('stay away from a backend after five failures in a row, and nothing reaches it', async () => {
    const client = clientOf();
    backend.answers['work'] = (_asked, res) => json(res, 503, { error: 'down' });
    for (let i = 0; i < 5; i++) expect(await client.call(request()).answer).toMatchObject({ kind: 'refused' });
    const before = backend.asked.length;
    expect(await client.call(request()).answer).toMatchObject({ kind: 'away', sent: false });
    expect(backend.asked.length).toBe(before);
    // The catalogue asks all the same, and its answer closes the breaker.
    await client.call(request({ method: 'list_tools', as: 'technical' })).answer;
    backend.answers['work'] = () => 'back';
    expect(await client.call(request()).answer).toMatchObject({ kind: 'result' });
  });

  it('find nobody where nobody listens, and say that nothing was sent', async () => {
    await backend.shut();
    expect(await ask()).toEqual({ kind: 'away', sent: false, retryAfterMs: 0 });
  });
});
