import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { json, testBackend } from '../testing/backend.js';
import { BackendClient } from './client.js';
import { MachineIdentity } from './machine-identity.js';

/** An issuer that gives tokens of ten minutes to whoever knows the secret. */
let server: Server;
let issuer: string;
let asked: { headers: IncomingHttpHeaders; body: string }[];
let answer: unknown;
let status: number;
let metadata: object;
let now: number;
let logs: string[];
beforeEach(async () => {
  [asked, status, answer, now, logs] = [[], 200, undefined, 1_000_000, []];
  server = createServer((req, res) => {
    if (req.url?.startsWith('/.well-known/')) return json(res, 200, metadata);
    if (req.url === '/moved') return res.writeHead(status, { location: `${issuer}/token` }).end();
    void text(req).then((body) => {
      asked.push({ headers: req.headers, body });
      const given = { access_token: `token-${asked.length}`, token_type: 'Bearer', expires_in: 600 };
      json(res, status, answer ?? given);
    });
    return undefined;
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  metadata = { issuer, token_endpoint: `${issuer}/token` };
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});
const identity = () =>
  new MachineIdentity({
    issuer,
    clientId: 'cortex',
    clientSecret: 'a b+c',
    now: () => now,
    log: { error: (_, line) => void logs.push(line), info: (_, line) => void logs.push(line) },
  });

describe('the token of the catalogue', () => {
  it('is one of client credentials, and one for all who ask at once', async () => {
    const machine = identity();
    expect(await Promise.all([machine.token(), machine.token(), machine.token()])).toEqual(Array(3).fill('token-1'));
    expect(asked).toHaveLength(1);
    expect(asked[0]?.body).toBe('grant_type=client_credentials');
    expect(asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from('cortex:a+b%2Bc').toString('base64')}`);
  });

  it.each([301, 302, 303, 307, 308])('is not looked for where the issuer sends us on to: %i', async (code) => {
    [status, metadata] = [code, { issuer, token_endpoint: `${issuer}/moved` }];
    await expect(identity().token()).rejects.toThrow(`it answered ${code}`);
    expect(asked).toEqual([]);
  });

  it('is kept until a minute before its end', async () => {
    const machine = identity();
    await machine.token();
    now += 539_999;
    expect(await machine.token()).toBe('token-1');
    now += 1;
    expect(await machine.token()).toBe('token-2');
  });

  it('is another one after a backend did not take it, and not when it did not take an older one', async () => {
    const machine = identity();
    machine.refused(await machine.token());
    expect(await machine.token()).toBe('token-2');
    machine.refused('token-1');
    expect(await machine.token()).toBe('token-2');
  });

  it.each<[string, () => void, string]>([
    ['refuses', () => void (status = 401), 'it answered 401'],
    ['gives none', () => void (answer = { token_type: 'Bearer' }), 'its answer holds no token'],
    ['gives one that is no header', () => void (answer = { access_token: 'a\r\nx: 1' }), 'its answer holds no token'],
    ['gives one of another kind', () => void (answer = { access_token: 'a', token_type: 'mac' }), 'no bearer token'],
    ['is not what its metadata says', () => void (metadata = { issuer: 'https://evil.example' }), 'cannot be read'],
    [
      'sends us elsewhere with the secret',
      () => void (metadata = { issuer, token_endpoint: 'https://evil.example/token' }),
      'is on another server',
    ],
  ])('is none while the issuer %s, which is told once and without a secret', async (_how, breaks, why) => {
    breaks();
    const machine = identity();
    await expect(machine.token()).rejects.toThrow(why);
    await expect(machine.token()).rejects.toThrow(why);
    expect(logs).toEqual([expect.stringContaining(why)]);
    expect(logs.join()).not.toMatch(/a b\+c|token-/);
    [status, answer, metadata] = [200, undefined, { issuer, token_endpoint: `${issuer}/token` }];
    // Metadata that could be read is kept for ten minutes.
    now += 600_000;
    expect(await machine.token()).toMatch(/^token-/);
  });
});

describe('a backend that knows Cortex by the issuer', () => {
  it('gets such a token for its lists alone, another one when it refuses it, and says why when there is none', async () => {
    await using backend = await testBackend();
    let taken = 'token-2';
    backend.answers['list_tools'] = ({ headers }, res) =>
      headers.authorization === `Bearer ${taken}`
        ? { tools: [] }
        : json(res, 401, { error: `no ${headers.authorization}` });
    const client = new BackendClient({
      backend: {
        id: 'demo',
        url: backend.url,
        path: '/api/cortex/backend',
        prefix: 'demo_',
        scopePrefixes: ['mcp:demo:'],
        uriSchemes: ['demo'],
        timeoutMs: 2_000,
        technicalToken: undefined,
        machineIdentity: true,
        eventToken: undefined,
        tokenMode: 'none',
        actions: [],
        order: 0,
        ownsTickets: false,
      },
      machine: identity(),
      maxBytes: 1024,
      maxStreamMs: 2_000,
      listChanged: () => Promise.resolve(),
      resourceUpdated: () => undefined,
    });
    const lists = () => client.call({ method: 'list_tools', params: '{}', as: 'technical', requestId: 'r' }).answer;
    const refused = await lists();
    expect(refused).toMatchObject({ kind: 'refused', status: 401 });
    expect(JSON.stringify(refused)).not.toContain('token-1');
    expect(await lists()).toMatchObject({ kind: 'result', text: '{"tools":[]}' });
    [taken, status] = ['another', 503];
    await lists();
    expect(await lists()).toEqual({ kind: 'invalid', why: expect.stringContaining('it answered 503') });
    await client.close();
  });
});
