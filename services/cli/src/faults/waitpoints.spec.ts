import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { RunningCortex } from './running.js';

// Every way of a signal, from the line that was pasted to the session's inbox, through real processes.
jest.setTimeout(180_000);
let cortex: RunningCortex;
let token: string;
let session: string;
beforeAll(async () => {
  cortex = await RunningCortex.start({ env: { CORTEX_WAITPOINT_SWEEP_MS: '500' } });
  const opened = await json<{ session_id: string; token: string }>('session', 'open');
  ({ token, session_id: session } = opened);
});
afterAll(async () => cortex[Symbol.asyncDispose]());

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await cortex.cortex([...args, '--json']);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as T;
}

interface Armed {
  id: string;
  secret: string;
  how_to_signal: { cli: string; curl: string; shell: string; env: string };
}
async function arm(more: object = {}): Promise<Armed> {
  const args = JSON.stringify({ label: 'job', intent: 'look', ...more });
  const { code, stdout, stderr } = await cortex.cortex(['call', 'wait_create', args, '--token', token]);
  if (code !== 0) throw new Error(stderr || stdout);
  return JSON.parse(stdout) as Armed;
}

/** A job that ends with this code, and the line right behind it, in a shell that knows nothing of Cortex. */
const job = (code: number, line: string, env: Record<string, string> = {}) =>
  new Promise<{ code: number; out: string }>((resolve) => {
    const plain = { PATH: '/usr/local/bin:/usr/bin:/bin', ...env };
    execFile('sh', ['-c', `(exit ${code}); ${line}`], { env: plain, cwd: '/' }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), out: (stdout + stderr).trim() }),
    );
  });

interface Shown {
  messages: { text: string }[];
}
const wakeOf = (id: string) =>
  eventually(async () => {
    const { messages } = await json<Shown>('session', 'show', session);
    const wakes = messages.filter(({ text }) => text.includes(id));
    expect(wakes).toHaveLength(1);
    return wakes[0]!.text;
  });

it('by cortex-signal of the home, which is late only once', async () => {
  const { id, how_to_signal } = await arm();
  expect(await job(1, how_to_signal.cli)).toEqual({ code: 0, out: 'accepted (waitpoint fired)' });
  expect(await wakeOf(id)).toContain('signal 1 message: exit=1');
  expect(await job(0, how_to_signal.cli)).toEqual({ code: 0, out: 'already resolved (fired)' });
});

it('by `cortex signal`, whose words are its own', async () => {
  const { id, secret } = await arm();
  const words = ['signal', '--id', id, '--secret', secret, '--message', '--all done', '--member', 'a'];
  const url = `http://127.0.0.1:${cortex.state.ports.webhooks}/webhook/signal`;
  const { code, stdout } = await cortex.cortex([...words, '--url', url]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'accepted (waitpoint fired)\n' });
  expect(await wakeOf(id)).toContain('signal 1 message: --all done');
  expect((await cortex.cortex(['signal', '--id'])).code).toBe(2);
  expect((await cortex.cortex(['signal', '--help'])).stdout).toContain('--no-spool');
  const wrong = await cortex.cortex(['signal', '--id', id, '--secret', 'x', '--url', url]);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('HTTP 401')]);
});

(existsSync('/usr/bin/curl') ? it : it.skip)('by curl', async () => {
  const { id, how_to_signal } = await arm();
  expect(await job(3, how_to_signal.curl)).toEqual({ code: 0, out: '{"accepted":true,"fired":true}' });
  expect(await wakeOf(id)).toContain('exit=3');
});

it('by a file in the spool of this host', async () => {
  const { id, how_to_signal } = await arm();
  expect(await job(0, how_to_signal.shell)).toEqual({ code: 0, out: '' });
  expect(await wakeOf(id)).toContain('exit=0');
});

it('by a file in the spool of a device', async () => {
  await cortex.device('lab');
  const { id, how_to_signal } = await arm({ device: 'lab' });
  expect(await job(7, how_to_signal.shell, { HOME: join(cortex.dir, 'home-of-lab') })).toEqual({ code: 0, out: '' });
  expect(await wakeOf(id)).toContain('exit=7');
});

it('while Cortex is down, by cortex-signal: it is taken in at the next start', async () => {
  const { id, how_to_signal } = await arm();
  expect((await cortex.cortex(['down'])).code).toBe(0);
  const left = await job(9, how_to_signal.cli);
  expect(left).toEqual({ code: 0, out: expect.stringContaining('spooled ') });
  expect((await job(9, `${how_to_signal.cli} --no-spool`)).code).toBe(1);
  expect((await cortex.up()).code).toBe(0);
  expect(await wakeOf(id)).toContain('exit=9');
  expect(await readdir(join(cortex.home.dir, 'tmp', 'signals'))).toEqual([]);
});

it('after its session has ended, to the session that is on its channel then', async () => {
  const { id, how_to_signal } = await arm();
  expect((await cortex.cortex(['session', 'end', session])).code).toBe(0);
  expect((await job(0, how_to_signal.cli)).out).toBe('accepted (waitpoint fired)');
  session = await eventually(async () => {
    const { sessions } = await json<{ sessions: { session_id: string; channel: string }[] }>('session', 'list');
    const heir = sessions.find(({ channel }) => channel === `web:${session}`);
    expect(heir).toBeDefined();
    return heir!.session_id;
  });
  expect(await wakeOf(id)).toContain('exit=0');
});
