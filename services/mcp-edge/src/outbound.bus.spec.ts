import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, testBackend, type TestBackend } from './testing/backend.js';
import { type EdgeFixture, startEdge } from './testing/edge-fixture.js';

interface Listener extends AsyncDisposable {
  readonly url: string;
  readonly seen: { path: string; headers: IncomingHttpHeaders }[];
}
async function listener(answer: (path: string, res: ServerResponse) => void): Promise<Listener> {
  const seen: Listener['seen'] = [];
  const server = createServer((req, res) => {
    seen.push({ path: req.url ?? '', headers: req.headers });
    req.resume();
    answer(req.url ?? '', res);
  });
  // What a proxy is asked for by a client that uses one for https.
  server.on('connect', (req, socket) => {
    seen.push({ path: req.url ?? '', headers: req.headers });
    socket.destroy();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Where everything is sent on to; whoever comes here followed a redirect. */
let trap: Listener;
/** Sends every request on to the trap, in each way that HTTP knows. */
let turns: Listener;
let status = 302;
let demo: TestBackend;
let edge: EdgeFixture;
beforeAll(async () => {
  trap = await listener((_path, res) => res.end('{}'));
  turns = await listener((path, res) => res.writeHead(status, { location: `${trap.url}${path}` }).end());
  demo = await testBackend([{ name: 'work', scope: 'mcp:demo:use', description: 'Works.' }]);
  edge = await startEdge({
    env: backendEnv(
      { demo },
      {
        OAUTH_JWKS_URL: `${turns.url}/keys`,
        CORTEX_PROXY_AS_METADATA: 'true',
        OAUTH_ISSUER: turns.url,
        CORTEX_TECHNICAL_TOKEN: 'technical-secret',
      },
    ),
  });
  await eventually(() => edge.edge.federation.complete);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
  await turns[Symbol.asyncDispose]();
  await trap[Symbol.asyncDispose]();
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('of the issuer is not followed: %i', async (code) => {
    status = code;
    const before = turns.seen.length;
    const token = await edge.issuer.token(edge.url, { iss: turns.url, sub: `by-${code}` });
    expect((await edge.call('whoami', {}, { token })).status).toBe(503);
    expect((await fetch(`${edge.origin}/.well-known/oauth-authorization-server`)).status).toBe(503);
    expect(turns.seen.length).toBeGreaterThan(before);
    expect(trap.seen).toEqual([]);
  });

  it.each([301, 302, 303, 307, 308])('of a backend is not followed, with a token or without: %i', async (code) => {
    demo.answers['list_tools'] = (_asked, res) => void res.writeHead(code, { location: trap.url }).end();
    await edge.edge.federation.refresh();
    expect(edge.edge.federation.shelves.get('demo')).toMatchObject({
      healthy: false,
      problem: expect.stringContaining(String(code)),
    });
    demo.answers['list_tools'] = () => ({ tools: demo.tools });
    await edge.edge.federation.refresh();
    expect(trap.seen).toEqual([]);
  });
});

describe('a proxy of the environment', () => {
  const NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
  it('is asked by no request: neither of the issuer nor of a backend', async () => {
    await using proxy = await listener((_path, res) => res.end('{}'));
    const kept = NAMES.map((name) => [name, process.env[name]] as const);
    for (const name of NAMES) process.env[name] = proxy.url;
    process.env['NO_PROXY'] = '';
    try {
      await using plain = await startEdge({
        env: (issuer) => ({
          ...backendEnv({ demo }, { CORTEX_PROXY_AS_METADATA: 'true' }),
          OAUTH_INTROSPECT_URL: `${issuer.url}/introspect`,
          OAUTH_INTROSPECT_CLIENT_ID: 'cortex',
          OAUTH_INTROSPECT_CLIENT_SECRET: 'of the edge',
        }),
      });
      await eventually(() => plain.edge.federation.complete);
      const token = await plain.token({ scope: 'mcp:demo:use' });
      demo.answers['work'] = () => 'done';
      expect((await plain.call('demo_work', {}, { token })).body.result.content[0].text).toBe('done');
      await fetch(`${plain.origin}/.well-known/oauth-authorization-server`);
      expect([plain.issuer.fetches > 0, plain.issuer.introspections > 0]).toEqual([true, true]);
      expect(proxy.seen).toEqual([]);
    } finally {
      delete process.env['NO_PROXY'];
      for (const [name, value] of kept) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });
});
