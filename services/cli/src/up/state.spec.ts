import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EXIT } from '../exit.js';
import { homeOf, openHome, type Home } from '../home.js';
import { identityOf, isAlive } from '../identity.js';
import { deployedState, lockHome } from './state.js';

let home: Home;
beforeEach(async () => {
  home = homeOf(await mkdtemp(join(tmpdir(), 'cortex-lock-')));
  openHome(home);
});
afterEach(() => rm(home.dir, { recursive: true, force: true }));

describe('the lock of a home', () => {
  it('lets one process in, and the next one when that one lets go', () => {
    const unlock = lockHome(home);
    expect(() => lockHome(home)).toThrow(expect.objectContaining({ exitCode: EXIT.alreadyRunning }));
    unlock();
    lockHome(home)();
    expect(readdirSync(dirname(home.lock))).toEqual([]);
  });

  it('is taken from a process that is gone', async () => {
    const child = spawn('true');
    const { pid, started } = identityOf(child.pid ?? 0);
    await once(child, 'exit');
    writeFileSync(home.lock, JSON.stringify({ pid, started }));
    lockHome(home)();
  });

  it('is taken from a pid that another process has by now', () => {
    writeFileSync(home.lock, JSON.stringify({ pid: process.pid, started: '1' }));
    lockHome(home)();
  });

  it('is taken when a crash left it empty', () => {
    writeFileSync(home.lock, '');
    lockHome(home)();
  });
});

it('knows a process by its start, not by its number alone', async () => {
  const child = spawn('sleep', ['60']);
  const identity = identityOf(child.pid ?? 0);
  expect(isAlive(identity)).toBe(true);
  expect(isAlive({ ...identity, started: '1' })).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isAlive(identity)).toBe(false);
});

describe('a Cortex that runs elsewhere', () => {
  const env = {
    CORTEX_ENDPOINT: 'http://mcp-edge:9030/mcp',
    CORTEX_NATS_URL: 'nats://nats:4222',
    CORTEX_DATABASE_URL: 'postgres://postgres:5432/cortex',
  };

  it('is known by its endpoint, its bus and its database, all of them', () => {
    expect(deployedState(env)).toMatchObject({
      endpoint: env.CORTEX_ENDPOINT,
      nats_url: env.CORTEX_NATS_URL,
      processes: [],
    });
    for (const name of Object.keys(env)) expect(deployedState({ ...env, [name]: '' })).toBeNull();
  });

  it('has the development issuer unless it is told of another one', () => {
    expect(deployedState({ ...env, CORTEX_ISSUER_PORT: '9501' })?.issuer).toBe('http://127.0.0.1:9501');
    expect(deployedState({ ...env, OAUTH_ISSUER: 'https://id.example' })?.issuer).toBeNull();
  });
});
