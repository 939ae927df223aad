import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { Client, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { isAlive } from '../identity.js';
import { Browser } from '../oauth/browser.js';
import { RunningCortex } from './running.js';

// A client that has nothing but the address, as the guide promises it.
let cortex: RunningCortex;
beforeAll(async () => {
  cortex = await RunningCortex.start();
}, 180_000);
afterAll(() => cortex[Symbol.asyncDispose]());

const info = { name: 'newcomer', version: '1' };
const REDIRECT = 'http://localhost:41999/callback';

const loginCode = (): string => readFileSync(cortex.home.loginCode, 'utf8').trim();

/** What a client keeps of its login, and a browser that its person uses. */
class Person {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: 'Newcomer',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  browser = new Browser();
  callback: URL | null = null;
  #client: { client_id: string } | undefined;
  #tokens: { access_token: string; token_type: string; refresh_token?: string } | undefined;
  #verifier = '';
  #discovered: { authorizationServerUrl: string } | undefined;

  state = (): string => 's1';
  clientInformation = () => this.#client;
  saveClientInformation = (client: { client_id: string }): void => void (this.#client = client);
  tokens = () => this.#tokens;
  saveTokens = (tokens: { access_token: string; token_type: string }): void => void (this.#tokens = tokens);
  codeVerifier = (): string => this.#verifier;
  saveCodeVerifier = (verifier: string): void => void (this.#verifier = verifier);
  discoveryState = () => this.#discovered;
  saveDiscoveryState = (found: { authorizationServerUrl: string }): void => void (this.#discovered = found);

  async redirectToAuthorization(url: URL): Promise<void> {
    const page = await this.browser.open(url);
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('Newcomer') });
    const { left } = await this.browser.submit(page, { code: loginCode(), decision: 'allow' });
    this.callback = left;
  }

  /** As after an hour: the token is refused. */
  spoilToken(): void {
    if (this.#tokens !== undefined) this.#tokens = { ...this.#tokens, access_token: 'spoilt' };
  }
}

interface Finishable {
  finishAuth(code: never): Promise<void>;
}
interface AnyClient {
  connect(transport: Finishable): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  close(): Promise<void>;
}

const clients: [string, () => AnyClient, (url: URL, person: Person) => Finishable, (callback: URL) => unknown][] = [
  [
    'the SDK v2 client',
    () => new Client(info, { versionNegotiation: { mode: 'auto' } }) as unknown as AnyClient,
    (url, authProvider) => new ModernTransport(url, { authProvider }),
    (callback) => callback.searchParams,
  ],
  [
    'the SDK v1 client',
    () => new OldClient(info) as unknown as AnyClient,
    (url, authProvider) => new StreamableHTTPClientTransport(url, { authProvider }),
    (callback) => callback.searchParams.get('code'),
  ],
  [
    'a client of HTTP+SSE',
    () => new OldClient(info) as unknown as AnyClient,
    (url, authProvider) => new SSEClientTransport(new URL('/sse', url), { authProvider }),
    (callback) => callback.searchParams.get('code'),
  ],
];

it.each(clients)('%s without a token logs in, and stays logged in', async (_name, newClient, transport, found) => {
  for (const host of ['127.0.0.1', 'localhost']) {
    const url = new URL(cortex.state.endpoint);
    url.hostname = host;
    const person = new Person();
    const first = transport(url, person);
    await expect(newClient().connect(first)).rejects.toThrow(/unauthorized/i);
    if (person.callback === null) throw new Error('the browser was not sent back');
    expect(person.callback.href).toMatch(/^http:\/\/localhost:41999\/callback\?/);
    await first.finishAuth(found(person.callback) as never);

    const client = newClient();
    await client.connect(transport(url, person));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('remote_bash');
    await client.close();

    // Refreshed without a person.
    person.browser = new Browser();
    person.callback = null;
    person.spoilToken();
    const later = newClient();
    await later.connect(transport(url, person));
    expect((await later.listTools()).tools.map(({ name }) => name)).toContain('remote_bash');
    await later.close();
    expect(person.callback).toBeNull();
  }
});

it('tells the login code wherever a person looks for it, and keeps it and the logins for the owner alone', async () => {
  const { stdout } = await cortex.cortex(['status', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ login_code: loginCode() });
  expect((await cortex.cortex(['status'])).stdout).toContain(loginCode());
  expect((await cortex.cortex(['doctor'])).stdout).toContain(`with the code ${loginCode()}`);
  for (const file of [cortex.home.loginCode, cortex.home.logins]) expect(statSync(file).mode & 0o077).toBe(0);
});

it('T05 writes neither the login code nor what a client was given into a log', async () => {
  const kept = JSON.parse(readFileSync(cortex.home.logins, 'utf8')) as Record<string, Record<string, unknown>>;
  const secrets = [loginCode(), ...Object.keys(kept['RefreshToken'] ?? {})];
  expect(secrets.length).toBeGreaterThan(1);
  for (const name of readdirSync(cortex.home.logs)) {
    const log = readFileSync(join(cortex.home.logs, name), 'utf8');
    expect({ name, found: secrets.filter((secret) => log.includes(secret)) }).toEqual({ name, found: [] });
  }
});

it('keeps clients and their logins when everything is killed, and has another code then', async () => {
  const url = new URL(cortex.state.endpoint);
  const person = new Person();
  const first = new ModernTransport(url, { authProvider: person });
  await expect(new Client(info).connect(first)).rejects.toThrow(/unauthorized/i);
  await first.finishAuth(person.callback?.searchParams ?? new URLSearchParams());
  const before = loginCode();
  process.kill(cortex.state.supervisor.pid, 'SIGKILL');
  await eventually(() => !isAlive(cortex.state.supervisor));
  const { code, stdout } = await cortex.up();
  expect(code).toBe(0);
  expect(loginCode()).not.toBe(before);
  expect(stdout).toContain(loginCode());

  person.callback = null;
  person.spoilToken();
  const client = new Client(info, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new ModernTransport(url, { authProvider: person }));
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  await client.close();
  expect(person.callback).toBeNull();
}, 180_000);
