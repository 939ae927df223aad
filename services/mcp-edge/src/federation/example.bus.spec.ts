import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@cortex/embedded';
import { eventually } from '@cortex/testing';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

const SERVER = resolve(import.meta.dirname, '../../../../examples/backend/server.mjs');
const READ = 'mcp:demo:read';
const ALL = `${READ} mcp:demo:write`;

let edge: EdgeFixture;
let backend: ChildProcess | undefined;
let port: number;
let url: string;

/** The example as its README starts it. */
async function start(): Promise<void> {
  const child = spawn(process.execPath, [SERVER], {
    env: {
      PORT: String(port),
      CORTEX_URL: edge.url,
      OAUTH_ISSUER: edge.issuer.url,
      OAUTH_JWKS_URL: `${edge.issuer.url}/keys`,
      TECHNICAL_TOKEN: 'technical',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  backend = child;
  await new Promise<void>((listening) => child.stdout?.once('data', () => listening()));
}
async function stop(): Promise<void> {
  const child = backend;
  backend = undefined;
  if (child === undefined || child.exitCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  child.kill();
  await ended;
}

beforeAll(async () => {
  port = await freePort();
  url = `http://127.0.0.1:${port}`;
  edge = await startEdge({
    beside: [],
    env: {
      CORTEX_BACKENDS: 'demo',
      CORTEX_BACKEND_DEMO_URL: url,
      CORTEX_TECHNICAL_TOKEN: 'technical',
      CORTEX_REFRESH_INTERVAL_MS: '200',
    },
  });
  await start();
});
afterAll(async () => {
  await stop();
  await edge[Symbol.asyncDispose]();
});

const names = async (scope: string): Promise<string[]> =>
  (await edge.ask('tools/list', {}, { token: await edge.token({ scope }) })).body.result.tools
    .map(({ name }: { name: string }) => name)
    .filter((name: string) => name.startsWith('demo_'));
const call = async (name: string, args: object, scope = ALL) =>
  (await edge.call(name, args, { token: await edge.token({ scope }) })).body;
const READING = ['demo_echo', 'demo_get_help', 'demo_get_time', 'demo_list_notes'];

describe('the example of a backend', () => {
  it('is listed to who has its scopes, goes when it stops, and comes back by itself', async () => {
    await eventually(async () => (await names(READ)).join() === READING.join());
    expect(await names(ALL)).toEqual(['demo_delete_note', ...READING, 'demo_save_note']);
    expect(await names('mcp:cortex:read')).toEqual([]);
    await stop();
    await eventually(async () => (await names(ALL)).length === 0);
    expect((await edge.call('whoami')).status).toBe(200);
    await start();
    await eventually(async () => (await names(ALL)).length === 6);
  });

  it('does what it says, in the name of who calls', async () => {
    expect((await call('demo_echo', { message: 'hi' }, READ)).result.content[0].text).toBe('{"message":"hi"}');
    const saved = JSON.parse((await call('demo_save_note', { text: 'milk' })).result.content[0].text);
    expect(saved).toMatchObject({ text: 'milk', author: 'alice' });
    expect((await call('demo_list_notes', {}, READ)).result.content[0].text).toContain('milk');
    expect((await call('demo_delete_note', { id: saved.id })).result.isError).toBeUndefined();
    expect((await call('demo_delete_note', { id: saved.id })).result).toMatchObject({ isError: true });
  });

  it('gives nobody data for the token of the catalogue, and looks at a token of a person again', async () => {
    const ask = async (method: string, bearer: string): Promise<number> => {
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ method, params: {} });
      return (await fetch(`${url}/api/cortex/backend`, { method: 'POST', headers, body })).status;
    };
    expect([await ask('list_tools', 'technical'), await ask('list_notes', 'technical')]).toEqual([200, 403]);
    expect(await ask('list_notes', await edge.token({ scope: READ }))).toBe(200);
    expect(await ask('save_note', await edge.token({ scope: READ }))).toBe(403);
    const elsewhere = await edge.issuer.token('https://other.example/mcp', { scope: READ });
    for (const bad of ['', 'a.b.c', elsewhere, await edge.token({ scope: READ, exp: 1 })])
      expect(await ask('list_notes', bad)).toBe(401);
  });
});
