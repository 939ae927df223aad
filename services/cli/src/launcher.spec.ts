import { execFile, spawn } from 'node:child_process';
import { createPublicKey, verify, type JsonWebKey } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, isPortFree } from '@cortex/embedded/ports';
import { eventually } from '@cortex/testing/eventually';
import { EXIT } from './exit.js';
import { homeOf, type Home } from './home.js';
import { isAlive } from './identity.js';
import { readSecrets } from './secrets.js';
import { readState, type UpState } from './up/state.js';

const SCRIPT = fileURLToPath(new URL('../../../cortex', import.meta.url));
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let root: string;
const homes: Home[] = [];

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the command line from another folder, with none of the variables of this process. */
function cortex(home: Home, args: readonly string[], env: NodeJS.ProcessEnv = {}, stdin = ''): Promise<Outcome> {
  const given = { ...envOf(home), ...env };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [MAIN, ...args],
      { env: given, cwd: tmpdir() },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
    child.stdin?.end(stdin);
  });
}

const envOf = (home: Home): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  CORTEX_HOME: home.dir,
});

function newHome(name: string): Home {
  const home = homeOf(join(root, name));
  homes.push(home);
  return home;
}

/** The first of four ports in a row that nobody uses. */
async function freeBase(): Promise<number> {
  for (;;) {
    const base = await freePort();
    const free = await Promise.all([0, 1, 2, 3].map((n) => isPortFree(base + n)));
    if (base < 65_000 && free.every(Boolean)) return base;
  }
}

async function up(home: Home, base: number): Promise<UpState> {
  const started = await cortex(home, ['up', '--detach', '--port', String(base)]);
  expect(started).toMatchObject({ code: EXIT.ok });
  return stateOf(home);
}

function stateOf(home: Home): UpState {
  const state = readState(home);
  if (state === null) throw new Error('the home was never up');
  return state;
}

const processOf = (home: Home, name: string) => {
  const found = stateOf(home).processes.find((process) => process.name === name);
  if (found === undefined) throw new Error(`${name} does not run`);
  return found;
};

beforeAll(async () => {
  // A blank in the path, and a folder that only its owner may enter.
  root = await mkdtemp(join(tmpdir(), 'cortex launcher '));
  // Builds what is not built, as a newcomer does it.
  await promisify(execFile)('sh', [SCRIPT, '--version']);
}, 180_000);

afterAll(async () => {
  await Promise.all(homes.map((home) => cortex(home, ['down'])));
  await rm(root, { recursive: true, force: true });
});

describe('a home that is up', () => {
  let home: Home;
  let base: number;
  beforeAll(async () => {
    home = newHome('first');
    base = await freeBase();
    await up(home, base);
  });

  it('says where it is when it is started a second time', async () => {
    const second = await cortex(home, ['up']);
    expect(second.code).toBe(EXIT.alreadyRunning);
    expect(second.stderr).toContain(`running already: http://127.0.0.1:${base}/mcp`);
  });

  it('has a token that its key set verifies, for its endpoint alone', async () => {
    const { stdout } = await cortex(home, ['token', '--sub', 'ada', '--scopes', 'mcp:cortex:read', '--ttl', '1h']);
    const [head = '', body = '', signature = ''] = stdout.trim().split('.');
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
    const { keys } = (await (await fetch(`http://127.0.0.1:${base + 1}/.well-known/jwks.json`)).json()) as {
      keys: (JsonWebKey & { kid: string })[];
    };
    const key = keys.find(({ kid }) => kid === decode(head)['kid']);
    expect(Object.keys(key ?? {}).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    const verified = verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      createPublicKey({ key: key as JsonWebKey, format: 'jwk' }),
      Buffer.from(signature, 'base64url'),
    );
    expect(verified).toBe(true);
    const claims = decode(body);
    expect(claims).toMatchObject({
      iss: `http://127.0.0.1:${base + 1}`,
      aud: `http://127.0.0.1:${base}/mcp`,
      sub: 'ada',
      scope: 'mcp:cortex:read',
      client_id: 'cortex-cli',
    });
    expect(Number(claims['exp']) - Number(claims['iat'])).toBe(3600);
  });

  it('T05 T99 keeps its secrets in files of its owner, and out of every argv', () => {
    const secrets = readSecrets(home);
    for (const file of [home.secrets, home.natsConfig]) expect(statSync(file).mode & 0o077).toBe(0);
    for (const dir of [home.dir, home.logs, join(home.dir, 'config')]) expect(statSync(dir).mode & 0o077).toBe(0);
    const values = [
      ...Object.values(secrets.bus),
      ...Object.values(secrets.database).map((value) => (typeof value === 'string' ? value : value.password)),
      secrets.webhook_token,
      secrets.client_token,
      secrets.state_key,
      secrets.audit_hash_key,
      secrets.admin_secret,
      secrets.cron_secret,
      String(secrets.issuer.private_jwk['d']),
    ];
    const argv = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => readQuietly(`/proc/${pid}/cmdline`))
      .join('\n');
    expect(argv).toContain(home.postgres);
    expect(values.filter((value) => argv.includes(value))).toEqual([]);
    const logs = readdirSync(home.logs).map((name) => readFileSync(join(home.logs, name), 'utf8'));
    expect(values.filter((value) => logs.some((log) => log.includes(value)))).toEqual([]);
  });

  it('calls a tool: its text on stdout, or on stderr with exit code 1 when it failed', async () => {
    const good = await cortex(home, ['call', 'current_time', '-'], {}, '{"timezone":"Asia/Tokyo"}');
    expect(good).toMatchObject({ code: EXIT.ok, stdout: expect.stringContaining('Asia/Tokyo') });
    const bad = await cortex(home, ['call', 'current_time', '{"timezone":"Mars/Base"}']);
    expect(bad).toMatchObject({ code: EXIT.failed, stdout: '', stderr: expect.stringContaining('timezone') });
    const broken = await cortex(home, ['call', 'current_time', '{"timezone"']);
    expect(broken).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining('arguments is no JSON') });
    const refused = await cortex(home, ['call', 'current_time', '--token', 'x']);
    expect(refused).toMatchObject({ code: EXIT.failed, stderr: expect.stringContaining('invalid_token') });
  });

  it('joins this machine as a device, runs a command on it, and tells both as events', async () => {
    const device = spawn(process.execPath, [MAIN, 'device', 'run', '--name', 'laptop'], {
      env: envOf(home),
      stdio: 'ignore',
    });
    try {
      await eventually(async () => {
        const listed = await cortex(home, ['device', 'list', '--json']);
        expect(JSON.parse(listed.stdout)).toMatchObject({ devices: [{ name: 'laptop', online: true }] });
      }, 20_000);
      const args = JSON.stringify({ device: 'laptop', command: 'echo from-the-device' });
      expect(await cortex(home, ['call', 'remote_bash', args])).toMatchObject({
        code: EXIT.ok,
        stdout: expect.stringContaining('from-the-device'),
      });
      const { stdout, stderr } = await cortex(home, ['events']);
      expect(stderr).toBe('');
      const happened = stdout.split('\n').map((line) => line.split('  ')[2]?.split(' ')[0]);
      const told = happened.filter((type) => /^(Device|RemoteCommand)/.test(type ?? ''));
      expect(told.slice(-3)).toEqual(['DeviceConnected', 'RemoteCommandIssued', 'RemoteCommandCompleted']);
      expect(happened.slice(-2)).toEqual(['ToolCallFinished', undefined]);
      // Revoked, it is told to go, and goes.
      expect(await cortex(home, ['device', 'revoke', 'laptop'])).toMatchObject({ code: EXIT.ok });
      await eventually(() => expect(device.exitCode).toBe(1), 10_000);
    } finally {
      device.kill('SIGKILL');
    }
  });

  it.each(['nats', 'postgres', 'services'])('brings back %s after kill -9', async (name) => {
    const before = processOf(home, name);
    process.kill(before.pid, 'SIGKILL');
    await eventually(async () => {
      expect(processOf(home, name)).toMatchObject({ restarts: before.restarts + 1 });
      const status = await cortex(home, ['status', '--json']);
      expect(JSON.parse(status.stdout)).toMatchObject({ running: true, ready: true });
    }, 20_000);
    expect(isAlive(before)).toBe(false);
  });

  it('names a taken port, and what moves it, to another home', async () => {
    const other = newHome('other');
    const taken = await cortex(other, ['up', '--port', String(base)]);
    expect(taken.code).toBe(EXIT.portTaken);
    expect(taken.stderr).toContain(`port ${base} (public) is taken; move it with PORT or --port`);
    expect(taken.stderr).toContain(`port ${base + 3} (devices) is taken; move it with CORTEX_CLIENT_PORT or --port`);
  });

  it('runs beside another home, and neither sees the other', async () => {
    const other = newHome('beside');
    const state = await up(other, await freeBase());
    expect(state.ports.nats).not.toBe(stateOf(home).ports.nats);
    expect(await cortex(other, ['down'])).toMatchObject({ code: EXIT.ok });
    expect(await cortex(home, ['status'])).toMatchObject({ code: EXIT.ok });
  });

  it('ends, and says why, when a service can no longer work as it is configured', async () => {
    const other = newHome('beside');
    const { supervisor, processes } = await up(other, await freeBase());
    writeFileSync(other.secrets, '{"version":1,"state_key":"hunter2"}');
    process.kill(processOf(other, 'services').pid, 'SIGKILL');
    await eventually(() => expect([supervisor, ...processes].filter(isAlive)).toEqual([]), 30_000);
    const said = readFileSync(join(other.logs, 'up.log'), 'utf8');
    expect(said).toMatch(/services cannot work with this configuration:\n.*secrets\.json/);
    expect(said).not.toContain('hunter2');
  });

  it('is taken over by the next up when its supervisor was killed', async () => {
    const { supervisor, processes } = stateOf(home);
    process.kill(supervisor.pid, 'SIGKILL');
    await eventually(() => expect(isAlive(supervisor)).toBe(false));
    const state = await up(home, base);
    expect(state.supervisor.pid).not.toBe(supervisor.pid);
    expect(processes.filter(isAlive)).toEqual([]);
  });

  it('is gone whole after down', async () => {
    const { supervisor, processes } = stateOf(home);
    expect(await cortex(home, ['down'])).toMatchObject({ code: EXIT.ok });
    expect([supervisor, ...processes].filter(isAlive)).toEqual([]);
    expect(await cortex(home, ['status'])).toMatchObject({ code: EXIT.notRunning });
    expect(await isPortFree(base)).toBe(true);
  });
});

it('refuses the development issuer in production, and signs no token there', async () => {
  const home = newHome('production');
  const env = { NODE_ENV: 'production' };
  const started = await cortex(home, ['up', '--port', String(await freeBase())], env);
  expect(started.code).toBe(EXIT.usage);
  expect(started.stderr).toContain('set OAUTH_ISSUER');
  expect(await cortex(home, ['token'], env)).toMatchObject({ code: EXIT.usage, stdout: '' });
});

it('ends what it had started when it cannot start whole', async () => {
  const home = newHome('broken');
  const blocked = createServer();
  const port = await new Promise<number>((resolve) => {
    blocked.listen(0, '127.0.0.1', () => resolve((blocked.address() as { port: number }).port));
  });
  blocked.close();
  // A database that is not there: NATS and the services have begun by then.
  const env = { CORTEX_DATABASE_URL: `postgres://nobody:wrong@127.0.0.1:${port}/none` };
  const started = await cortex(home, ['up', '--port', String(await freeBase())], env);
  expect(started).toMatchObject({ code: EXIT.failed });
  expect(started.stderr).toContain('provisioning failed');
  expect(started.stderr).not.toContain('wrong');
  expect(stateOf(home).processes).toEqual([]);
});

function readQuietly(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // it ended in between
  }
}
