import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { tempDir } from '@cortex/testing/temp-dir';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { homeOf, openHome } from '../home.js';
import { writeSignalCommand } from '../up/signal-command.js';
import { readFlags, SignalUsageError } from './flags.js';
import { signal } from './signal.js';

let server: Server;
let url: string;
let dir: string;
let answer: { status: number; body: string } | 'hang up';
const received: Record<string, unknown>[] = [];

beforeAll(async () => {
  dir = await tempDir('signal');
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => (text += piece));
    request.on('end', () => {
      received.push(JSON.parse(text) as Record<string, unknown>);
      if (answer === 'hang up') request.socket.destroy();
      else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook/signal`;
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  received.length = 0;
  answer = { status: 202, body: '{"accepted":true,"fired":false}' };
});

const env = () => ({ CORTEX_HOME: dir, CORTEX_SIGNAL_ID: 'wp_1a2b3c4d5e6f', CORTEX_SIGNAL_SECRET: 'f'.repeat(32) });
const run = (...words: string[]) => signal(['--url', url, ...words], env());
const nobody = ['--url', 'http://127.0.0.1:9/webhook/signal'];
const spooled = async (): Promise<string[]> => readdir(join(dir, 'tmp', 'signals')).catch(() => []);

describe('the flags', () => {
  const read = (...words: string[]) => readFlags(words, env());
  it('take id, secret and port from the environment where none is given', () => {
    expect(readFlags(['--no-spool'], { ...env(), WEBHOOK_PORT: '4001' })).toEqual({
      id: 'wp_1a2b3c4d5e6f',
      secret: 'f'.repeat(32),
      status: 'ok',
      url: 'http://127.0.0.1:4001/webhook/signal',
      spool: false,
    });
    expect(read('--id', 'wp_2', '--secret=s')).toMatchObject({ id: 'wp_2', secret: 's' });
  });
  it.each([
    ['0', 'ok', 'exit=0'],
    ['1', 'fail', 'exit=1'],
    ['137', 'fail', 'exit=137'],
    ['-1', 'fail', 'exit=-1'],
  ])('make of exit code %s status %s', (code, status, message) => {
    expect(read('--exit-code', code)).toMatchObject({ status, message });
  });
  it('let an explicit status and message win over the exit code', () => {
    expect(read('--exit-code', '1', '--status', 'progress', '--message', 'm')).toMatchObject({
      status: 'progress',
      message: 'm',
    });
  });
  it('take the next word as a value whatever it looks like', () => {
    expect(read('--message', '--help')).toMatchObject({ message: '--help' });
    expect(read('--message', '-h', '--member', '--no-spool')).toMatchObject({ message: '-h', member: '--no-spool' });
  });
  it('are refused with what mends them', () => {
    const refusals: [string[], string][] = [
      [['--foo'], '--foo is no known flag'],
      [['word'], 'word is no known flag'],
      [['--message'], '--message has no value'],
      [['--exit-code', 'one'], '--exit-code one is no whole number'],
      [['--exit-code', ''], '--exit-code  is no whole number'],
      [['--status', 'done'], '--status done is none; use one of ok, fail, progress'],
      [['--url', 'file:///x'], 'is no http address'],
    ];
    for (const [words, problem] of refusals) expect(() => read(...words)).toThrow(problem);
    expect(() => readFlags(['--status', 'ok'], {})).toThrow(SignalUsageError);
  });
  it('need not be there where the environment names the waitpoint', () => {
    const env = { CORTEX_SIGNAL_ID: 'wp_1', CORTEX_SIGNAL_SECRET: 'f'.repeat(32) };
    expect(readFlags([], env)).toMatchObject({ id: 'wp_1', status: 'ok' });
  });
  it('ask for help by --help, -h or by not being there', () => {
    for (const words of [[], ['-h'], ['--status', 'ok', '--help']]) expect(readFlags(words, {})).toBeNull();
  });
});

describe('cortex-signal', () => {
  it('tells what became of the signal', async () => {
    expect(await run('--exit-code', '0')).toEqual({ code: 0, out: 'accepted' });
    expect(received[0]).toMatchObject({
      id: 'wp_1a2b3c4d5e6f',
      secret: 'f'.repeat(32),
      status: 'ok',
      message: 'exit=0',
    });
    answer = { status: 202, body: '{"accepted":true,"fired":true}' };
    expect(await run('--status', 'ok')).toEqual({ code: 0, out: 'accepted (waitpoint fired)' });
    answer = { status: 410, body: '{"error":"gone","state":"expired"}' };
    expect(await run('--status', 'ok')).toEqual({ code: 0, out: 'already resolved (expired)' });
    for (const status of [400, 401, 404, 413, 429, 500, 503]) {
      answer = { status, body: '{"error":"no"}' };
      expect(await run('--status', 'ok')).toEqual({ code: 1, err: `HTTP ${status}: no` });
    }
    answer = { status: 200, body: '<html>' };
    expect(await run('--status', 'ok')).toMatchObject({ code: 1 });
    expect(await spooled()).toEqual([]);
  });

  it('attaches a file, or the text, and no more of it than fits', async () => {
    await writeFile(join(dir, 'log.txt'), 'last line\n');
    await run('--data', `@${join(dir, 'log.txt')}`);
    await run('--data', '{"loss":0.2}');
    await run('--data', '\x01'.repeat(60_000), '--message', 'x'.repeat(9_000));
    expect(received.map(({ data }) => data).slice(0, 2)).toEqual(['last line\n', '{"loss":0.2}']);
    expect(JSON.stringify(received[2]).length).toBeLessThan(64 * 1024);
    expect(received[2]!['data']).toMatch(/… \[cut: \d+ more characters\]$/);
    expect(await run('--data', '@/nowhere')).toEqual({ code: 2, err: '--data /nowhere cannot be read (ENOENT)' });
  });

  it('leaves a file in the spool where nobody listens, or the answer was lost, under the key that it was sent with', async () => {
    const alone = await signal([...nobody, '--exit-code', '1', '--member', 'a'], env());
    expect(alone).toEqual({ code: 0, out: expect.stringMatching(/^spooled .*\/\d{13}-\d+-[0-9a-f]{6}\.json$/) });
    const path = alone.out!.replace('spooled ', '');
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
      id: 'wp_1a2b3c4d5e6f',
      secret: 'f'.repeat(32),
      status: 'fail',
      message: 'exit=1',
      member: 'a',
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    answer = 'hang up';
    const broken = await run('--status', 'ok');
    expect(received[0]!['dedupe_key']).toBe(`spool:${broken.out!.split('/').at(-1)}`);
    expect((await spooled()).every((name) => name.endsWith('.json'))).toBe(true);
  });

  it('fails instead with --no-spool, and where the spool cannot be written', async () => {
    const count = (await spooled()).length;
    expect(await signal([...nobody, '--no-spool'], env())).toMatchObject({
      code: 1,
      err: expect.stringContaining('ECONNREFUSED'),
    });
    expect(await spooled()).toHaveLength(count);
    const blocked = { ...env(), CORTEX_HOME: '/dev/null' };
    expect(await signal([...nobody, '--status', 'ok'], blocked)).toMatchObject({ code: 1 });
  });
});

it('the program in the home runs without PATH or npm, from a home with any name, and speaks for that home', async () => {
  const home = homeOf(join(dir, `it's a "home" $(x)`));
  openHome(home);
  await mkdir(join(dir, 'elsewhere'), { recursive: true });
  const path = writeSignalCommand(home, 9);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  const script = await readFile(path, 'utf8');
  expect(script).toContain(`CORTEX_HOME='${home.dir.replaceAll("'", `'\\''`)}' WEBHOOK_PORT=\${WEBHOOK_PORT:-9}`);
  // Its own words reach it as they are; the sources stand for the build here.
  await writeFile(path, script.replace(/^exec .*$/m, `exec printf '%s|' "$CORTEX_HOME" "$WEBHOOK_PORT" "$@"`));
  const out = await new Promise<string>((resolve, reject) => {
    execFile(path, ['--message', `a 'b' "c" $(d)`], { env: {}, cwd: join(dir, 'elsewhere') }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
  });
  expect(out).toBe(`${home.dir}|9|--message|a 'b' "c" $(d)|`);
});
