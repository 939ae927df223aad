import { execFile, spawn } from 'node:child_process';
import { createHmac, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { CallFinished, CallRecord } from '@cortex/contracts';
import { isPortFree } from '@cortex/embedded/ports';
import { eventually, tempDir } from '@cortex/testing';
import { Client } from 'pg';
import { withAdmin } from '../admin.js';
import { endsOf, readLog } from '../events/reader.js';
import { homeOf, type Home } from '../home.js';
import { isAlive } from '../identity.js';
import { readSecrets } from '../secrets.js';
import { makeToken } from '../token.js';
import { readState, type KeptProcess, type UpState } from '../up/state.js';

const SCRIPT = fileURLToPath(new URL('../../../../cortex', import.meta.url));
const PROTOCOL = '2026-07-28';
const READY_MS = 30_000;

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** What became of one call at the client. */
export interface Answer {
  /** 0 when the connection gave none. */
  status: number;
  /** Of a tool that ran and did not fail. */
  ok: boolean;
  /** Kind of a refusal in the result. */
  kind?: string;
  text: string;
  structured?: Record<string, unknown>;
}

/** A whole Cortex of real processes, started and used as a person does: by the launcher and over HTTP. */
export class RunningCortex implements AsyncDisposable {
  readonly token: string;
  readonly #devices: (() => Promise<void>)[] = [];

  private constructor(
    readonly home: Home,
    /** A folder for the files of a test. */
    readonly dir: string,
    private readonly options: { args: readonly string[]; env: Record<string, string> },
  ) {
    this.token = makeToken(home, {});
  }

  static async start(given: { each?: boolean; env?: Record<string, string> } = {}): Promise<RunningCortex> {
    const dir = await tempDir('whole');
    await mkdir(join(dir, 'files'));
    const home = homeOf(join(dir, 'home'));
    const args = ['up', '--detach', '--port', String(await freeBase()), ...(given.each ? ['--each'] : [])];
    // Load is what these tests make; the limiter has tests of its own.
    const env = { CORTEX_RATE_LIMIT_PER_MINUTE: '1000000000', ...given.env };
    const started = await launch(home, args, env);
    if (started.code !== 0) throw new Error(`up ended with ${started.code}: ${started.stderr}`);
    return new RunningCortex(home, join(dir, 'files'), { args, env });
  }

  get state(): UpState {
    const state = readState(this.home);
    if (state === null) throw new Error('the home was never up');
    return state;
  }

  cortex(args: readonly string[]): Promise<Outcome> {
    return launch(this.home, args, this.options.env);
  }

  /** The same `up` again, as after a crash. */
  up(): Promise<Outcome> {
    return launch(this.home, this.options.args, this.options.env);
  }

  process(name: string): KeptProcess {
    const found = this.state.processes.find((process) => process.name === name);
    if (found === undefined) throw new Error(`${name} does not run`);
    return found;
  }

  /** SIGKILL; resolves when another one stands in its place and all are ready. */
  async kill(name: string): Promise<void> {
    const victim = this.process(name);
    process.kill(victim.pid, 'SIGKILL');
    await eventually(() => this.process(name).restarts > victim.restarts && !isAlive(victim), READY_MS);
    await this.ready();
  }

  async ready(): Promise<void> {
    await eventually(async () => {
      const { stdout } = await this.cortex(['status', '--json']);
      return (JSON.parse(stdout) as { ready: boolean }).ready;
    }, READY_MS);
  }

  /** `cortex device run` in a process and with a home folder of its own; resolves when it is connected. */
  async device(name: string): Promise<{ pid: number; kill(): Promise<void> }> {
    const userHome = join(this.dir, `home-of-${name}`);
    await mkdir(userHome);
    const child = spawn('sh', [SCRIPT, 'device', 'run', '--name', name], {
      env: { PATH: process.env['PATH'], HOME: userHome, CORTEX_HOME: this.home.dir },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = once(child, 'exit');
    const kill = async (): Promise<void> => {
      child.kill('SIGKILL');
      await exited;
    };
    this.#devices.push(kill);
    for await (const line of createInterface(child.stderr)) if (line.includes('connected;')) break;
    child.stderr.resume();
    return { pid: child.pid ?? 0, kill };
  }

  /** One `tools/call` of the stateless era. */
  async call(
    tool: string,
    args: Record<string, unknown>,
    given: { key?: string; traceparent?: string; signal?: AbortSignal; token?: string } = {},
  ): Promise<Answer> {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': PROTOCOL,
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      ...(given.key !== undefined && { 'cortex/idempotencyKey': given.key }),
      ...(given.traceparent !== undefined && { traceparent: given.traceparent }),
    };
    const params = { name: tool, arguments: args, _meta };
    const headers = {
      'mcp-protocol-version': PROTOCOL,
      'mcp-method': 'tools/call',
      'mcp-name': tool,
      ...(given.token !== undefined && { authorization: `Bearer ${given.token}` }),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    try {
      const { status, text } = await this.post(body, headers, given.signal);
      return readAnswer(status, text);
    } catch (error) {
      return { status: 0, ok: false, text: String(error) };
    }
  }

  post(body: string, headers: Record<string, string>, signal?: AbortSignal): Promise<{ status: number; text: string }> {
    const all = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json', ...headers };
    return new Promise((resolve, reject) => {
      const sent = request(
        this.state.endpoint,
        { method: 'POST', headers: { accept: 'application/json', ...all }, signal },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () =>
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
          );
        },
      );
      sent.once('error', reject).end(body);
    });
  }

  /** A POST to the loopback listener. */
  async loopback(
    path: string,
    body: unknown,
    token?: string,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`http://127.0.0.1:${this.state.ports.webhooks}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== undefined && { 'x-cortex-token': token }) },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** What a command of the command line says with `--json`. */
  async json<T>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await this.cortex([...args, '--json']);
    if (code !== 0) throw new Error(`cortex ${args.join(' ')} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Records of calls so far, oldest first. */
  records(): Promise<CallRecord[]> {
    return withAdmin(this.home, async ({ bus }) => {
      const records: CallRecord[] = [];
      for await (const { data } of readLog(bus, await endsOf(bus), { subject: 'cortex.call.>' }))
        records.push(JSON.parse(Buffer.from(data).toString()) as CallRecord);
      return records;
    });
  }

  /** The ends on record of the calls with these arguments. */
  endsOf(records: readonly CallRecord[], args: Record<string, unknown>): CallFinished[] {
    const key = readSecrets(this.home).audit_hash_key;
    const hash = createHmac('sha256', key).update(JSON.stringify(args)).digest('hex').slice(0, 16);
    return records.filter(
      (record): record is CallFinished => record.type === 'ToolCallFinished' && record.params_hash === hash,
    );
  }

  /** Rows as the superuser sees them. */
  sql(text: string): Promise<Record<string, unknown>[]> {
    return withAdmin(this.home, async ({ adminUrl }) => {
      const client = new Client({ connectionString: adminUrl });
      await client.connect();
      try {
        return (await client.query<Record<string, unknown>>(text)).rows;
      } finally {
        await client.end();
      }
    });
  }

  /** Resolves when every view has read its stream to the end. */
  async caughtUp(): Promise<void> {
    await eventually(async () => {
      const { stdout } = await this.cortex(['projections', 'status', '--json']);
      const { projections } = JSON.parse(stdout) as { projections: { pending: number | null }[] };
      return projections.length > 0 && projections.every(({ pending }) => pending === 0);
    }, READY_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const kill of this.#devices) await kill();
    await this.cortex(['down']);
    await rm(join(this.dir, '..'), { recursive: true, force: true });
  }
}

function readAnswer(status: number, text: string): Answer {
  const message = JSON.parse(text) as {
    error?: { message?: string };
    result?: {
      isError?: boolean;
      content?: { text?: string }[];
      structuredContent?: Record<string, unknown>;
      _meta?: Record<string, { kind?: string }>;
    };
  };
  const { result, error } = message;
  if (result === undefined) return { status, ok: false, text: error?.message ?? text };
  const said = { status, text: result.content?.[0]?.text ?? '', structured: result.structuredContent };
  return { ...said, ok: result.isError !== true, kind: result._meta?.['cortex/error']?.kind };
}

/** Runs the launcher with none of the variables of this process. */
function launch(home: Home, args: readonly string[], env: Record<string, string>): Promise<Outcome> {
  const given = { PATH: process.env['PATH'], HOME: process.env['HOME'], CORTEX_HOME: home.dir, ...env };
  return new Promise((resolve) => {
    execFile('sh', [SCRIPT, ...args], { env: given, cwd: tmpdir(), maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/**
 * The first of four ports in a row that nobody uses, below those that systems hand out: nobody takes them while this Cortex is down.
 */
async function freeBase(): Promise<number> {
  for (;;) {
    const base = 10_000 + 4 * randomInt(5_000);
    const free = await Promise.all([0, 1, 2, 3].map((n) => isPortFree(base + n)));
    if (free.every(Boolean)) return base;
  }
}
