import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually, tempDir } from '@cortex/testing';
import { backendEnv, testBackend, type TestBackend } from '@cortex/mcp-edge/testing/backend';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { homeOf } from '../home.js';
import { isAlive } from '../identity.js';
import { readState, runningState, type UpState } from '../up/state.js';
import { RunningCortex } from './running.js';

// The bridge as a client starts it: a program with pipes.
jest.setTimeout(180_000);

const SCRIPT = fileURLToPath(new URL('../../../../cortex', import.meta.url));
const SCOPES = 'mcp:cortex:read mcp:demo:read';
const CLIENT = { name: 'test', version: '1' };

type Tools = { tools: { name: string }[] };
const names = ({ tools }: Tools): string[] => tools.map(({ name }) => name);
const environment = (home: string, more: Record<string, string> = {}): Record<string, string> => ({
  PATH: String(process.env['PATH']),
  HOME: String(process.env['HOME']),
  CORTEX_HOME: home,
  ...more,
});

const started: ChildProcess[] = [];
const clients: { close(): Promise<void> }[] = [];
// A test that failed leaves none to the next.
afterEach(async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const client of clients.splice(0)) await client.close();
});

/** A bridge whose lines are written and read one by one. */
class Piped {
  readonly lines: string[] = [];
  told = '';
  readonly exit: Promise<number | null>;

  constructor(readonly child: ChildProcess) {
    started.push(child);
    createInterface({ input: child.stdout! }).on('line', (line) => this.lines.push(line));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.told += text));
    this.exit = once(child, 'exit').then(([code]) => code as number | null);
  }

  static start(home: string, args: readonly string[] = [], env: Record<string, string> = {}): Piped {
    return new Piped(spawn('sh', [SCRIPT, 'stdio', ...args], { env: environment(home, env) }));
  }

  say(message: object): void {
    this.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- what a server answered is looked at field by field
  async answer(id: number): Promise<any> {
    const find = () => this.lines.map((line) => JSON.parse(line)).find((message) => message.id === id);
    await eventually(() => find() !== undefined, 60_000);
    return find();
  }

  async end(): Promise<number | null> {
    this.child.stdin!.end();
    return this.exit;
  }
}

const whoami = (id: number) => ({
  id,
  method: 'tools/call',
  params: {
    name: 'whoami',
    arguments: {},
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});
const identityIn = (answer: { result: { structuredContent: { identity: { sub: string } } } }): string =>
  answer.result.structuredContent.identity.sub;

/** The gateways of all bridges of a home that live. */
const gateways = (home: string): UpState[] =>
  readdirSync(`${home}/stdio`).flatMap((slot) => runningState(homeOf(`${home}/stdio/${slot}`)) ?? []);
const left = (home: string): boolean =>
  readdirSync(`${home}/stdio`).some((slot) =>
    readState(homeOf(`${home}/stdio/${slot}`))?.processes.some((process) => isAlive(process)),
  );

describe('a bridge with a gateway of its own', () => {
  let home: string;
  let backend: TestBackend;
  let env: Record<string, string>;
  beforeAll(async () => {
    home = await tempDir('bridge');
    backend = await testBackend([{ name: 'greet', scope: 'mcp:demo:read', description: 'Says hello.', params: {} }]);
    backend.answers['greet'] = () => ({ text: 'hello' });
    env = backendEnv({ demo: backend }, { BRIDGE_SCOPES: SCOPES });
  });
  afterAll(async () => {
    await backend[Symbol.asyncDispose]();
    rmSync(home, { recursive: true, force: true });
  });

  it('serves a client of the stateless revision, tools of a backend too, and is told of changes', async () => {
    const client = new Client(CLIENT, { versionNegotiation: { mode: 'auto' } });
    const transport = new StdioClientTransport({
      command: 'sh',
      args: [SCRIPT, 'stdio'],
      env: environment(home, env),
      stderr: 'ignore',
    });
    clients.push(client);
    await client.connect(transport, { timeout: 60_000 });
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    await eventually(async () => expect(names(await client.listTools())).toContain('demo_greet'));
    const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} });
    expect(structuredContent).toMatchObject({ identity: { sub: 'stdio-bridge' } });
    const listening = await client.listen({ toolsListChanged: true });
    expect(listening.honoredFilter).toMatchObject({ toolsListChanged: true });
    await client.close();
    await eventually(() => !left(home));
  });

  it('serves a client of the revisions with a handshake, and asks a real verification to let it in', async () => {
    const client = new OldClient(CLIENT);
    clients.push(client);
    await client.connect(
      new OldTransport({ command: 'sh', args: [SCRIPT, 'stdio'], env: environment(home, env), stderr: 'ignore' }),
      { timeout: 60_000 },
    );
    await eventually(async () => expect(names(await client.listTools())).toContain('demo_greet'));
    expect(JSON.stringify(await client.callTool({ name: 'demo_greet', arguments: {} }))).toContain('hello');
    const [gateway] = gateways(home);
    const unsigned = await fetch(String(gateway?.endpoint), {
      method: 'POST',
      headers: { authorization: 'Bearer x.y.z', 'content-type': 'application/json' },
      body: '{}',
    });
    expect(unsigned.status).toBe(401);
    await client.close();
    await eventually(() => !left(home));
  });

  it('shows without scopes the tools that need none', async () => {
    const bridge = Piped.start(home, [], { ...env, BRIDGE_SCOPES: '' });
    bridge.say({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: CLIENT },
    });
    bridge.say({ method: 'notifications/initialized' });
    bridge.say({ id: 2, method: 'tools/list' });
    expect((await bridge.answer(1)).result.protocolVersion).toBe('2025-06-18');
    const listed = names((await bridge.answer(2)).result);
    expect(listed).toContain('whoami');
    expect(listed.some((name) => name.startsWith('demo_'))).toBe(false);
    expect(await bridge.end()).toBe(0);
  });

  it('writes JSON-RPC to stdout and nothing else, answers what was asked before stdin ended, and leaves nothing running', async () => {
    const bridge = Piped.start(home, [], env);
    bridge.say(whoami(1));
    bridge.say(whoami(2));
    expect(await bridge.end()).toBe(0);
    expect(new Set(bridge.lines.map((line) => JSON.parse(line).id))).toEqual(new Set([1, 2]));
    expect(bridge.lines).toHaveLength(2);
    expect(bridge.told).toContain('waiting for the services to be ready');
    expect(left(home)).toBe(false);
  });

  it('lets two of them live beside each other', async () => {
    const bridges = [Piped.start(home, [], env), Piped.start(home, [], env)];
    for (const bridge of bridges) bridge.say(whoami(1));
    for (const bridge of bridges) expect(identityIn(await bridge.answer(1))).toBe('stdio-bridge');
    expect(new Set(gateways(home).map(({ endpoint }) => endpoint)).size).toBe(2);
    for (const bridge of bridges) expect(await bridge.end()).toBe(0);
    expect(left(home)).toBe(false);
  });

  it('goes on when a process of its gateway is killed, since that is brought back', async () => {
    const bridge = Piped.start(home, [], env);
    bridge.say(whoami(1));
    await bridge.answer(1);
    const services = () => gateways(home)[0]?.processes.find(({ kind }) => kind === 'services');
    const victim = services()!;
    process.kill(victim.pid, 'SIGKILL');
    await eventually(() => services()?.pid !== victim.pid);
    let id = 1;
    await eventually(async () => {
      bridge.say(whoami(++id));
      expect(identityIn(await bridge.answer(id))).toBe('stdio-bridge');
    });
    expect(await bridge.end()).toBe(0);
  });

  it('ends with the code of its gateway', async () => {
    const bridge = Piped.start(home, [], env);
    bridge.say(whoami(1));
    await bridge.answer(1);
    process.kill(gateways(home)[0]!.supervisor.pid, 'SIGKILL');
    expect(await bridge.exit).toBe(1);
    await eventually(() => !left(home));
  });

  it('that is killed takes its gateway with it, and the next one begins beside what is left of it', async () => {
    const bridge = Piped.start(home, [], env);
    bridge.say(whoami(1));
    await bridge.answer(1);
    bridge.child.kill('SIGKILL');
    const next = Piped.start(home, [], env);
    next.say(whoami(1));
    expect(identityIn(await next.answer(1))).toBe('stdio-bridge');
    await eventually(() => gateways(home).length === 1);
    next.child.kill('SIGTERM');
    expect(await next.exit).toBe(0);
    await eventually(() => !left(home));
  });

  it('says on stderr what keeps its gateway from starting, and ends with its code', async () => {
    const bridge = Piped.start(home, [], { ...env, CORTEX_BACKENDS: 'de_mo' });
    bridge.say(whoami(1));
    expect(await bridge.exit).not.toBe(0);
    expect(bridge.told).toContain('CORTEX_BACKENDS');
    expect(bridge.lines).toEqual([]);
    expect(readFileSync(`${home}/stdio/1/run/up.json`, 'utf8')).not.toContain('technical');
  });
});

describe('a bridge to a Cortex that runs', () => {
  let cortex: RunningCortex;
  beforeAll(async () => {
    cortex = await RunningCortex.start();
  });
  afterAll(async () => cortex[Symbol.asyncDispose]());

  it('speaks for the owner of the home, and goes on when that Cortex was restarted', async () => {
    const bridge = Piped.start(cortex.home.dir, ['--running']);
    bridge.say(whoami(1));
    expect(identityIn(await bridge.answer(1))).toBe('owner');
    bridge.say({
      id: 2,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT },
    });
    bridge.say({ method: 'notifications/initialized' });
    await bridge.answer(2);
    await cortex.cortex(['down']);
    await cortex.up();
    bridge.say({ id: 3, method: 'tools/list' });
    expect(names((await bridge.answer(3)).result)).toContain('whoami');
    expect(await bridge.end()).toBe(0);
  });

  it('reaches one elsewhere by its address with a token of its own, and says why it is refused', async () => {
    const env = { BRIDGE_URL: cortex.state.endpoint, BRIDGE_TOKEN: cortex.token };
    const elsewhere = await tempDir('elsewhere');
    const bridge = Piped.start(elsewhere, [], env);
    bridge.say(whoami(1));
    expect(identityIn(await bridge.answer(1))).toBe('owner');
    expect(await bridge.end()).toBe(0);
    const stranger = Piped.start(elsewhere, [], { ...env, BRIDGE_TOKEN: `${cortex.token}x` });
    stranger.say(whoami(1));
    expect((await stranger.answer(1)).error).toMatchObject({
      code: -32603,
      message: expect.stringContaining('HTTP 401'),
    });
    expect(await stranger.end()).toBe(0);
    expect(readdirSync(elsewhere)).toEqual([]);
    rmSync(elsewhere, { recursive: true });
  });
});
