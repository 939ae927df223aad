import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startLab, type Lab } from '../testing/lab.js';
import { remoteBash } from './remote-bash.tool.js';

let lab: Lab;
const device = 'lab';
beforeAll(async () => {
  lab = await startLab();
});
afterAll(async () => lab[Symbol.asyncDispose]());

it('gives output, exit code and the whole result of the specification', async () => {
  const result = await lab.app.call(remoteBash, { device, command: 'echo lab' });
  expect(result).toEqual({
    device,
    exit_code: 0,
    stdout: 'lab\n',
    stderr: '',
    timed_out: false,
    background: false,
    pid: null,
    duration_ms: expect.any(Number),
    truncated: false,
    spill_path: null,
    total_chars: 4,
    preview: null,
  });
});
it('marks a command that failed as an error and keeps its result', async () => {
  const { head, body } = await lab.app.send('remote_bash', { device, command: 'echo out; echo err >&2; exit 3' });
  expect(head).toMatchObject({ ok: true, is_error: true });
  const { content, structuredContent } = JSON.parse(`{${body}}`) as { content: unknown; structuredContent: unknown };
  expect(content).toEqual([{ type: 'text', text: 'out\n[stderr]\nerr\n[exit code: 3]' }]);
  expect(structuredContent).toMatchObject({ exit_code: 3, stdout: 'out\n', stderr: 'err\n' });
});
it('shows a command without output as such', async () =>
  expect(await lab.blocks('remote_bash', { command: 'true' })).toEqual([{ type: 'text', text: '(no output)' }]));
it('ends a command at its time limit', async () =>
  expect(await lab.app.call(remoteBash, { device, command: 'echo a; sleep 60', timeout: 1 })).toMatchObject({
    exit_code: 124,
    timed_out: true,
    stdout: 'a\n',
    stderr: expect.stringContaining('limit of 1 s'),
  }));
it('starts in the background', async () => {
  const marker = join(lab.dir, 'background');
  const command = `touch ${marker}; exec sleep 0.1`;
  const result = await lab.app.call(remoteBash, { device, command, run_in_background: true });
  expect(result).toMatchObject({ exit_code: null, background: true, pid: expect.any(Number), stdout: '' });
  await eventually(() => existsSync(marker));
});
it('spills what is too large into a file of its owner, and shows its beginning', async () => {
  const command = 'for i in $(seq 1 10000); do echo "line $i"; done';
  const options = lab.newSession();
  const result = await lab.app.call(remoteBash, { device, command }, options);
  expect(result).toMatchObject({ stdout: '', stderr: '', truncated: true, exit_code: 0 });
  expect(result.spill_path).toMatch(
    new RegExp(`^${lab.home}/tmp/tool-results/${options.scope!.session_id}/remote_bash-\\d+-[0-9a-f]{8}\\.txt$`),
  );
  const text = await readFile(result.spill_path!, 'utf8');
  expect(text).toHaveLength(result.total_chars);
  expect(text.endsWith('line 10000\n')).toBe(true);
  expect(result.preview).toBe(text.slice(0, 2000));
  expect((await stat(result.spill_path!)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(result.spill_path!))).mode & 0o777).toBe(0o700);
});
it('cuts the text when it cannot be spilled, and does not fail', async () => {
  const owner = 'session-unwritable';
  await mkdir(join(lab.home, 'tmp', 'tool-results'), { recursive: true });
  await writeFile(join(lab.home, 'tmp', 'tool-results', owner), 'in the way');
  const result = await lab.app.call(
    remoteBash,
    { device, command: 'head -c 50000 /dev/zero | tr "\\0" a' },
    { scope: { session_id: owner } },
  );
  expect(result).toMatchObject({ truncated: true, spill_path: null, preview: null, total_chars: 50_000 });
  expect(result.stdout).toHaveLength(30_000);
});
it('kills the command on the device when the caller gives up', async () => {
  const file = join(lab.dir, 'cancelled');
  const running = lab.app.call(
    remoteBash,
    { device, command: `echo $$ > ${file}; exec sleep 300` },
    { call_id: 'call-to-cancel', deadlineMs: 60_000 },
  );
  running.catch(() => undefined);
  const pid = await eventually(async () => Number(await readFile(file, 'utf8')) || false);
  lab.app.cancel('call-to-cancel');
  await expect(running).rejects.toMatchObject({ kind: 'cancelled' });
  await eventually(() => !existsSync(`/proc/${pid}`));
  await eventually(async () => (await lab.events('w1')).some((e) => e.data['reason'] === 'cancelled'));
});
it('does not run a command again under the same idempotency key', async () => {
  const file = join(lab.dir, 'once');
  const call = () => lab.app.call(remoteBash, { device, command: `echo x >> ${file}` }, { key: 'once' });
  await call();
  await expect(call()).rejects.toMatchObject({ kind: 'conflict', reason: 'already_settled' });
  expect(await readFile(file, 'utf8')).toBe('x\n');
});
it('names the bounds of its arguments', async () => {
  const refused = (args: object) => lab.app.send('remote_bash', { device, command: 'true', ...args });
  for (const timeout of [0, 601, 1.5]) {
    expect((await refused({ timeout })).head).toMatchObject({
      ok: false,
      error: {
        kind: 'invalid_argument',
        message: 'timeout must be an integer from 1 to 600; give seconds, or use run_in_background',
      },
    });
  }
  expect((await refused({ command: '' })).head).toMatchObject({ error: { field: 'command' } });
  expect((await refused({ comand: 'x' })).head).toMatchObject({
    error: { message: expect.stringContaining('command') },
  });
  expect((await refused({ timeout: null, description: null })).head).toMatchObject({ ok: true });
});

it('T89 leaves no part of a secret in the record of a command, also where the record is cut', async () => {
  const command = `echo ${'x'.repeat(180)} ghp_${'A'.repeat(36)}`;
  await lab.app.call(remoteBash, { device, command }, { workspace: 'w-secret' });
  const [issued] = await lab.events('w-secret');
  expect(issued?.data['target']).not.toContain('ghp_');
});
