import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, natsFixture, postgresFixture, type NatsFixture, type PostgresFixture } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DeviceHub } from './adapters/device-hub.js';
import { DeviceServer } from './adapters/device-server.js';
import { remoteOpsService } from './remote-ops.module.js';
import { startDevice } from './testing/device-process.js';
import { startFleet, type Fleet } from './testing/fleet.js';
import { joinRaw, rawKey } from './testing/raw-device.js';
import { remoteBash } from './tools/remote-bash.tool.js';

// Services come and go in these tests; the servers below them stay.
let nats: NatsFixture;
let postgres: PostgresFixture;
beforeAll(async () => {
  postgres = await postgresFixture([remoteOpsService]);
  nats = await natsFixture({ services: [remoteOpsService] });
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});
const start = (env: Record<string, string> = {}): Promise<Fleet> => startFleet({ nats, postgres, env });
const long = { deadlineMs: 60_000 };
const pem = (): string => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const devices = async (fleet: Fleet) =>
  (await fleet.app.ask<{ devices: Record<string, unknown>[] }>('query', 'devices', {})).devices;

/** Runs a command that says its PID in a file and then sleeps; resolves once it runs. */
async function sleeping(fleet: Fleet, device: string, of: Fleet = fleet) {
  const file = join(fleet.dir, `pid-${device}-${Date.now()}`);
  const call = of.app.call(remoteBash, { device, command: `echo $$ > ${file}; exec sleep 300`, timeout: 300 }, long);
  const ended = call.then(
    () => ({ kind: 'ok' }),
    (error: { kind: string; reason?: string; details?: Record<string, unknown> }) => error,
  );
  const pid = await eventually(async () => existsSync(file) && (Number(await readFile(file, 'utf8')) || false), 15_000);
  return { ended, pid, kill: () => process.kill(pid, 'SIGKILL') };
}

it('P65 kill -9 of the device process in the middle of a command answers unavailable at once', async () => {
  await using fleet = await start();
  const device = await fleet.device('p65');
  const { ended, kill } = await sleeping(fleet, 'p65');
  const began = Date.now();
  device.child.kill('SIGKILL');
  expect(await ended).toMatchObject({
    kind: 'unavailable',
    reason: 'device_offline',
    details: { device: 'p65', failure: 'disconnected' },
  });
  expect(Date.now() - began).toBeLessThan(15_000);
  kill(); // the command itself outlives the client, as it does a lost connection
  await expect(fleet.app.call(remoteBash, { device: 'p65', command: 'true' })).rejects.toMatchObject({
    reason: 'device_offline',
  });
});

it('an orderly stop of the client ends what it runs and says goodbye', async () => {
  await using fleet = await start();
  const device = await fleet.device('orderly');
  const { ended, pid } = await sleeping(fleet, 'orderly');
  device.child.kill('SIGTERM');
  expect(await device.ended).toBe(0);
  expect(await ended).toMatchObject({ kind: 'unavailable' });
  await eventually(() => !existsSync(`/proc/${pid}`));
});

it('a stop of the service fails what is in flight at once, and the device is back after the restart', async () => {
  const env = { CORTEX_CLIENT_TOKEN: 'shared-token', CORTEX_DEVICE_SERVER_KEY: pem() };
  await using first = await start(env);
  const device = await first.device('restart');
  const { ended, kill } = await sleeping(first, 'restart');
  const began = Date.now();
  await first.app.stop();
  expect(await ended).toMatchObject({ kind: 'unavailable', details: { failure: 'disconnected' } });
  expect(Date.now() - began).toBeLessThan(15_000);
  kill();
  await eventually(() => device.said.includes('the server is shutting down; next try in 1 s'));
  await using second = await start({ ...env, CORTEX_CLIENT_PORT: String(first.port) });
  await second.app.ask('cmd', 'add_device', { name: 'restart' });
  await second.online('restart', 20_000);
  expect(await second.app.call(remoteBash, { device: 'restart', command: 'echo back' })).toMatchObject({
    stdout: 'back\n',
  });
});

describe('T67 a client', () => {
  it('that has joined one server leaves when another key answers, and runs nothing for it', async () => {
    const env = { CORTEX_CLIENT_TOKEN: 'shared-token' };
    await using real = await start({ ...env, CORTEX_DEVICE_SERVER_KEY: pem() });
    const joined = await real.device('pinned');
    joined.child.kill('SIGTERM');
    await joined.ended;
    await real.app.stop(); // or a command of the test could be answered by either
    await using fake = await start({ ...env, CORTEX_DEVICE_SERVER_KEY: pem() });
    const joinCode = await fake.joinCode('pinned');
    await using again = startDevice({
      name: 'pinned',
      port: fake.port,
      token: fake.token,
      home: joined.home,
      joinCode,
    });
    expect(await again.ended).toBe(1);
    expect(again.said).toContain('another server key');
    expect(await devices(fake)).toContainEqual(expect.objectContaining({ name: 'pinned', online: false }));
  });
  it('sends nothing unencrypted to another host unless its file says so', async () => {
    await using fleet = await start();
    const home = await fleet.home();
    const options = { name: 'plain', port: fleet.port, token: fleet.token, home };
    const env = { CORTEX_SERVER_URL: 'ws://192.0.2.1:3002' };
    await using refused = startDevice({ ...options, env });
    expect(await refused.ended).toBe(2);
    expect(refused.said).toContain('unencrypted');
    await using allowed = startDevice({ ...options, env, file: { allowPlaintext: true } });
    // It dials then, and waits: the address belongs to nobody.
    expect(await Promise.race([allowed.ended, new Promise((r) => setTimeout(r, 1_500, 'dialling'))])).toBe('dialling');
  });
  it('keeps its key to itself', async () => {
    await using fleet = await start();
    const { home } = await fleet.device('keyed');
    const file = join(home, 'config', 'cortex-client.key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await eventually(async () =>
      expect(await devices(fleet)).toContainEqual({
        name: 'keyed',
        registered: true,
        enrolled: true,
        revoked: false,
        online: true,
        platform: process.platform,
        last_seen_at: expect.any(String),
        key_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      }),
    );
  });
});

describe('a client', () => {
  it('exits with status 1 on a wrong join code (4005) and on a taken name (4002)', async () => {
    await using fleet = await start();
    await fleet.joinCode('codes');
    const base = { name: 'codes', port: fleet.port, token: fleet.token };
    await using wrong = startDevice({ ...base, home: await fleet.home(), joinCode: 'wrong' });
    expect(await wrong.ended).toBe(1);
    expect(wrong.said).toContain('brought a wrong join code');
    const first = await fleet.device('codes');
    await using second = startDevice({ ...base, home: first.home });
    expect(await second.ended).toBe(1);
    expect(second.said).toContain('connected already');
  });
  it('keeps trying while its name is not registered (4004), and is let in once it is', async () => {
    await using fleet = await start({ CORTEX_DEVICE_ENROLMENT: 'first-use' });
    await using early = startDevice({ name: 'early', port: fleet.port, token: fleet.token, home: await fleet.home() });
    await eventually(() => early.said.includes('not in machines.json'), 15_000);
    await fleet.app.ask('cmd', 'add_device', { name: 'early' });
    await fleet.online('early', 15_000);
  });
  it('keeps trying with a token that is not the right one', async () => {
    await using fleet = await start();
    await using stranger = startDevice({ name: 'x', port: fleet.port, token: 'wrong', home: await fleet.home() });
    await eventually(() => stranger.said.includes('HTTP 401 Unauthorized; is the client token right?'), 15_000);
  });
});

describe('enrolment off', () => {
  it('takes a name on the word of the shared token alone, and warns', async () => {
    await using fleet = await start({ CORTEX_DEVICE_ENROLMENT: 'off' });
    await fleet.app.ask('cmd', 'add_device', { name: 'lax' });
    await using device = startDevice({ name: 'lax', port: fleet.port, token: fleet.token, home: await fleet.home() });
    await fleet.online('lax');
    await eventually(() => device.said.includes('connected'));
    expect(fleet.app.log.join('\n')).toContain('CORTEX_DEVICE_ENROLMENT=off');
  });
});

describe('two instances', () => {
  /** Both read the same machines.json. */
  const homes: string[] = [];
  const sharedHome = async () => {
    const home = await mkdtemp(join(tmpdir(), 'cortex-shared-'));
    homes.push(home);
    return { CORTEX_HOME: home, CORTEX_CLIENT_TOKEN: 'shared-token', CORTEX_DEVICE_SERVER_KEY: pem() };
  };
  afterAll(async () => {
    for (const home of homes) await rm(home, { recursive: true, force: true });
  });

  it('reach a device wherever it is connected, with small and large answers, cancel and revoke', async () => {
    const env = await sharedHome();
    await using holder = await start(env);
    await holder.device('shared');
    await using other = await start(env);
    await other.online('shared');
    const hub = other.app.get(DeviceHub);
    const run = (action: 'bash' | 'read' | 'write', params: object, signal = new AbortController().signal) =>
      hub.run(
        'shared',
        { commandId: randomBytes(8).toString('hex'), action, params: { ...params }, timeoutMs: 20_000 },
        {
          v: 1,
          call_id: 'c1',
          workspace_id: null,
          principal: { type: 'user', id: 'per_1', roles: [] },
          scope: {},
          args: {},
          deadline_ms: 20_000,
        },
        signal,
      );
    expect(await run('bash', { command: 'echo hi' })).toMatchObject({ stdout: 'hi\n', exitCode: 0 });
    const file_path = join(holder.dir, 'large.txt');
    const content = `${'x'.repeat(2_000_000)}\n`;
    expect(await run('write', { file_path, content })).toMatchObject({ bytes: 2_000_001 });
    expect(await run('read', { file_path })).toMatchObject({ content: `1\t${content.trim()}` });
    await expect(run('read', { file_path: '/none' })).rejects.toMatchObject({ kind: 'not_found' });

    const abort = new AbortController();
    const pidFile = join(holder.dir, 'forwarded');
    const cancelled = run('bash', { command: `echo $$ > ${pidFile}; exec sleep 300`, timeout: 300_000 }, abort.signal);
    cancelled.catch(() => undefined);
    const pid = await eventually(async () => existsSync(pidFile) && (Number(await readFile(pidFile, 'utf8')) || false));
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ kind: 'cancelled' });
    await eventually(() => !existsSync(`/proc/${pid}`));
    const name = 'shared';
    const key = rawKey();
    await expect(
      joinRaw({ port: other.port, token: other.token, device: name, key, joinCode: await holder.joinCode(name) }),
    ).rejects.toThrow('closed 4002');
    await other.app.ask('cmd', 'revoke_device', { name });
    await holder.offline(name);
    await other.offline(name);
  });

  it('let a device go to the other one at once when the one that held it was killed', async () => {
    const env = await sharedHome();
    await using dying = await start(env);
    const name = 'moves';
    const key = rawKey();
    const joinCode = await dying.joinCode(name);
    await using first = await joinRaw({ port: dying.port, token: dying.token, device: name, key, joinCode });
    await using living = await start(env);
    await living.online(name);
    const request = { v: 1 as const, call_id: 'c1', workspace_id: null, scope: {}, args: {}, deadline_ms: 60_000 };
    const running = living.app
      .get(DeviceHub)
      .run(
        name,
        { commandId: randomBytes(8).toString('hex'), action: 'bash', params: { command: 'true' }, timeoutMs: 60_000 },
        { ...request, principal: { type: 'user', id: 'per_1', roles: [] } },
        new AbortController().signal,
      );
    running.catch(() => undefined);
    await first.next('command');
    // As a kill does: its bus connection is gone, and nobody took back what it had announced.
    await dying.app.host.bus.nc.close();
    await using second = await joinRaw({ port: living.port, token: living.token, device: name, key });
    expect(second.socket.readyState).toBe(second.socket.OPEN);
    await expect(running).rejects.toMatchObject({ kind: 'unavailable', details: { failure: 'disconnected' } });
    first.socket.terminate();
  });
});

it('names a device port that is taken, and what moves it', async () => {
  await using fleet = await start();
  await expect(start({ CORTEX_CLIENT_PORT: String(fleet.app.get(DeviceServer).port) })).rejects.toThrow(
    `CORTEX_CLIENT_PORT ${fleet.port} is taken; free it, or set CORTEX_CLIENT_PORT to another`,
  );
});
