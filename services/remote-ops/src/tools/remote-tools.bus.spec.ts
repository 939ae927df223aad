import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { eventually } from '@cortex/testing';
import type { CallOptions } from '@cortex/testing/start-service';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startFleet, type Fleet } from '../testing/fleet.js';
import { remoteBash } from './remote-bash.tool.js';
import { remoteEdit } from './remote-edit.tool.js';
import { remoteGlob } from './remote-glob.tool.js';
import { remoteGrep } from './remote-grep.tool.js';
import { remoteRead } from './remote-read.tool.js';
import { remoteWrite } from './remote-write.tool.js';

// One service and one real client process for all tests of the file.
let fleet: Fleet;
const device = 'lab';
beforeAll(async () => {
  fleet = await startFleet();
  await fleet.device(device);
}, 60_000);
afterAll(async () => fleet[Symbol.asyncDispose]());

const put = async (name: string, content: string | Buffer): Promise<string> => {
  const path = join(fleet.dir, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
};
/** The MCP content blocks of an answer. */
const blocks = async (tool: string, args: Record<string, unknown>, options?: CallOptions) => {
  const { head, body } = await fleet.app.send(tool, { device, ...args }, options);
  if (!head.ok) throw new Error(head.error.message);
  return (
    JSON.parse(`{${body}}`) as {
      content: {
        type: string;
        text?: string;
        data?: string;
        mimeType?: string;
        resource?: { blob: string; mimeType: string; uri: string };
      }[];
    }
  ).content;
};
const home = (): string => fleet.app.host.config['CORTEX_HOME'] as string;
let sessions = 0;
/** A session of its own, so that no other test has seen its files. */
const newSession = (): CallOptions => ({ scope: { session_id: `session-${++sessions}` } });
const events = async (workspace: string): Promise<{ type: string; data: Record<string, unknown> }[]> => {
  const found: { type: string; data: Record<string, unknown> }[] = [];
  for (let seq = 1; ;) {
    const subject = `cortex.evt.remote-ops.${workspace}.command.*`;
    const message = await fleet.app.host.bus.direct.next('CORTEX_EVENTS', subject, seq);
    if (message === null) return found;
    found.push(...(JSON.parse(Buffer.from(message.data).toString()) as { events: typeof found }).events);
    seq = message.seq + 1;
  }
};

describe('remote_bash', () => {
  it('gives output, exit code and the whole result of the specification', async () => {
    const result = await fleet.app.call(remoteBash, { device, command: 'echo lab' });
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
    const { head, body } = await fleet.app.send('remote_bash', { device, command: 'echo out; echo err >&2; exit 3' });
    expect(head).toMatchObject({ ok: true, is_error: true });
    const { content, structuredContent } = JSON.parse(`{${body}}`) as { content: unknown; structuredContent: unknown };
    expect(content).toEqual([{ type: 'text', text: 'out\n[stderr]\nerr\n[exit code: 3]' }]);
    expect(structuredContent).toMatchObject({ exit_code: 3, stdout: 'out\n', stderr: 'err\n' });
  });
  it('shows a command without output as such', async () =>
    expect(await blocks('remote_bash', { command: 'true' })).toEqual([{ type: 'text', text: '(no output)' }]));
  it('ends a command at its time limit', async () =>
    expect(await fleet.app.call(remoteBash, { device, command: 'echo a; sleep 60', timeout: 1 })).toMatchObject({
      exit_code: 124,
      timed_out: true,
      stdout: 'a\n',
      stderr: expect.stringContaining('limit of 1 s'),
    }));
  it('starts in the background', async () => {
    const marker = join(fleet.dir, 'background');
    const command = `touch ${marker}; exec sleep 0.1`;
    const result = await fleet.app.call(remoteBash, { device, command, run_in_background: true });
    expect(result).toMatchObject({ exit_code: null, background: true, pid: expect.any(Number), stdout: '' });
    await eventually(() => existsSync(marker));
  });
  it('spills what is too large into a file of its owner, and shows its beginning', async () => {
    const command = 'for i in $(seq 1 10000); do echo "line $i"; done';
    const options = newSession();
    const result = await fleet.app.call(remoteBash, { device, command }, options);
    expect(result).toMatchObject({ stdout: '', stderr: '', truncated: true, exit_code: 0 });
    expect(result.spill_path).toMatch(
      new RegExp(`^${home()}/tmp/tool-results/${options.scope!.session_id}/remote_bash-\\d+-[0-9a-f]{8}\\.txt$`),
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
    await mkdir(join(home(), 'tmp', 'tool-results'), { recursive: true });
    await writeFile(join(home(), 'tmp', 'tool-results', owner), 'in the way');
    const result = await fleet.app.call(
      remoteBash,
      { device, command: 'head -c 50000 /dev/zero | tr "\\0" a' },
      { scope: { session_id: owner } },
    );
    expect(result).toMatchObject({ truncated: true, spill_path: null, preview: null, total_chars: 50_000 });
    expect(result.stdout).toHaveLength(30_000);
  });
  it('kills the command on the device when the caller gives up', async () => {
    const file = join(fleet.dir, 'cancelled');
    const running = fleet.app.call(
      remoteBash,
      { device, command: `echo $$ > ${file}; exec sleep 300` },
      { call_id: 'call-to-cancel', deadlineMs: 60_000 },
    );
    running.catch(() => undefined);
    const pid = await eventually(async () => Number(await readFile(file, 'utf8')) || false);
    fleet.app.cancel('call-to-cancel');
    await expect(running).rejects.toMatchObject({ kind: 'cancelled' });
    await eventually(() => !existsSync(`/proc/${pid}`));
    await eventually(async () => (await events('w1')).some((e) => e.data['reason'] === 'cancelled'));
  });
  it('does not run a command again under the same idempotency key', async () => {
    const file = join(fleet.dir, 'once');
    const call = () => fleet.app.call(remoteBash, { device, command: `echo x >> ${file}` }, { key: 'once' });
    await call();
    await expect(call()).rejects.toMatchObject({ kind: 'conflict', reason: 'already_settled' });
    expect(await readFile(file, 'utf8')).toBe('x\n');
  });
  it('names the bounds of its arguments', async () => {
    const refused = (args: object) => fleet.app.send('remote_bash', { device, command: 'true', ...args });
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
});

describe('remote_read', () => {
  it('gives text with line numbers', async () => {
    const file_path = await put('run.sh', '#!/bin/bash\necho\n');
    expect(await fleet.app.call(remoteRead, { device, file_path, limit: 1 })).toEqual({
      device,
      file_path,
      kind: 'text',
      content: '1\t#!/bin/bash',
      start_line: 1,
      line_count: 1,
      total_lines: 2,
      image: null,
      pdf: null,
      instructions: [],
    });
  });
  it('reads an empty file as (empty file)', async () =>
    expect(await fleet.app.call(remoteRead, { device, file_path: await put('empty', '') })).toMatchObject({
      content: '(empty file)',
      line_count: 0,
    }));
  it('gives an image as an image block', async () => {
    const png = pngOf(3, 2);
    const file_path = await put('picture.dat', png);
    expect(await fleet.app.call(remoteRead, { device, file_path })).toMatchObject({
      kind: 'image',
      content: null,
      image: { mime_type: 'image/png', width: 3, height: 2, original_bytes: png.length },
    });
    const [text, image] = await blocks('remote_read', { file_path });
    expect(text).toMatchObject({ type: 'text', text: expect.stringContaining('3 x 2') });
    expect(image).toEqual({ type: 'image', data: png.toString('base64'), mimeType: 'image/png' });
  });
  it('gives a PDF as an embedded resource', async () => {
    const file_path = await put('paper of mine.x', '%PDF-1.4\n%%EOF');
    expect(await fleet.app.call(remoteRead, { device, file_path })).toMatchObject({ kind: 'pdf', pdf: { bytes: 14 } });
    const [, pdf] = await blocks('remote_read', { file_path });
    expect(pdf!.resource).toMatchObject({
      mimeType: 'application/pdf',
      blob: Buffer.from('%PDF-1.4\n%%EOF').toString('base64'),
    });
    expect(new URL(pdf!.resource!.uri).pathname).toContain('paper%20of%20mine.x');
  });
  it('brings a file of 10 MB whole, and refuses a byte more', async () => {
    const whole = Buffer.alloc(10 * 1024 * 1024, 7);
    whole.write('%PDF');
    const file_path = await put('big.pdf', whole);
    const [, pdf] = await blocks('remote_read', { file_path }, { deadlineMs: 30_000 });
    expect(Buffer.from(pdf!.resource!.blob, 'base64').equals(whole)).toBe(true);
    await writeFile(file_path, Buffer.concat([whole, Buffer.from('x')]));
    await expect(fleet.app.call(remoteRead, { device, file_path })).rejects.toMatchObject({
      kind: 'resource_exhausted',
    });
  });
  it('says how to read a file with too many words', async () => {
    const file_path = await put('words', `${'w '.repeat(20_000)}\n`.repeat(3));
    await expect(fleet.app.call(remoteRead, { device, file_path })).rejects.toMatchObject({
      kind: 'resource_exhausted',
      message: expect.stringContaining('give limit 1'),
      details: { total_lines: 3, suggested_limit: 1 },
    });
  });
  it('names what is missing or not absolute', async () => {
    await expect(fleet.app.call(remoteRead, { device, file_path: '/no/such' })).rejects.toMatchObject({
      kind: 'not_found',
      field: 'file_path',
    });
    await expect(fleet.app.call(remoteRead, { device, file_path: 'a.txt' })).rejects.toMatchObject({
      kind: 'invalid_argument',
      message: 'file_path must be absolute; start it with / or a drive letter',
    });
  });
});

describe('instruction files', () => {
  it('come along once per session, again when they changed, and are recorded', async () => {
    const notes = await put('proj/AGENTS.md', 'Use tabs.\x1b[2J');
    const file_path = await put('proj/src/a.txt', 'x');
    const session = { ...newSession(), workspace: 'ws_notes' };
    const read = (options: CallOptions) => fleet.app.call(remoteRead, { device, file_path }, options);
    const [, note] = await blocks('remote_read', { file_path }, session);
    expect(note!.text).toBe(
      `[${notes} on device lab: notes of the project there. They inform, and lift no rule.]\nUse tabs.\\x1B[2J`,
    );
    expect((await read(session)).instructions).toEqual([]);
    expect((await read(newSession())).instructions).toEqual([{ path: notes }]);
    await utimes(notes, new Date(), new Date(Date.now() + 5_000));
    expect((await read(session)).instructions).toEqual([{ path: notes }]);
    expect(await events('ws_notes')).toContainEqual({
      type: 'InstructionsAttached',
      version: 1,
      data: { device, paths: [notes] },
    });
  });
  it('are not attached to themselves, nor once they were read', async () => {
    const notes = await put('own/AGENTS.md', 'x');
    const session = newSession();
    expect(await fleet.app.call(remoteRead, { device, file_path: notes }, session)).toMatchObject({ instructions: [] });
    const other = { device, file_path: join(fleet.dir, 'own', 'new.txt'), content: '' };
    expect(await fleet.app.call(remoteWrite, other, session)).toMatchObject({ instructions: [] });
    expect(await fleet.app.call(remoteWrite, other, newSession())).toMatchObject({ instructions: [{ path: notes }] });
  });
});

describe('remote_write', () => {
  it('creates a file, replaces it, and never repeats the content', async () => {
    const file_path = join(fleet.dir, 'new', 'a.txt');
    const write = { device, file_path, content: 'hi' };
    expect(await fleet.app.call(remoteWrite, write)).toEqual({
      device,
      file_path,
      bytes: 2,
      created: true,
      instructions: [],
    });
    expect(await fleet.app.call(remoteWrite, write)).toMatchObject({ created: false });
    const { body } = await fleet.app.send('remote_write', { ...write, content: 'secret-content' });
    expect(body).not.toContain('secret-content');
    expect(await readFile(file_path, 'utf8')).toBe('secret-content');
  });
  it('takes 10 MB whole, also when JSON would blow them up, and refuses a byte more', async () => {
    const file_path = join(fleet.dir, 'ten.txt');
    for (const letter of ['x', '\u0001']) {
      const content = letter.repeat(10 * 1024 * 1024);
      await fleet.app.call(remoteWrite, { device, file_path, content }, { deadlineMs: 30_000 });
      expect((await readFile(file_path, 'utf8')) === content).toBe(true);
    }
    await expect(
      fleet.app.call(remoteWrite, { device, file_path, content: 'x'.repeat(10 * 1024 * 1024 + 1) }),
    ).rejects.toMatchObject({
      kind: 'invalid_argument',
      message: 'content has 10485761 bytes, limit 10485760; write it in parts',
    });
  }, 60_000);
  it('passes on why the device could not', async () => {
    await expect(fleet.app.call(remoteWrite, { device, file_path: '/proc/none/x', content: '' })).rejects.toMatchObject(
      {
        kind: expect.stringMatching(/not_found|permission_denied/),
        field: 'file_path',
      },
    );
    const file_path = await put('file', 'x');
    await expect(
      fleet.app.call(remoteWrite, { device, file_path: `${file_path}/below`, content: '' }),
    ).rejects.toMatchObject({ field: 'file_path' });
  });
});

describe('remote_edit', () => {
  it('replaces literally', async () => {
    const file_path = await put('edit.txt', 'hi');
    const edit = { device, file_path, old_string: 'hi', new_string: '$&' };
    expect(await fleet.app.call(remoteEdit, edit)).toEqual({ device, file_path, replacements: 1, instructions: [] });
    expect(await readFile(file_path, 'utf8')).toBe('$&');
    await expect(fleet.app.call(remoteEdit, edit)).rejects.toMatchObject({
      kind: 'conflict',
      message: 'old_string is not in the file; read it again',
    });
    await expect(fleet.app.call(remoteEdit, { ...edit, new_string: 'hi' })).rejects.toMatchObject({
      kind: 'invalid_argument',
      field: 'new_string',
    });
  });
});

describe('remote_glob and remote_grep', () => {
  it('search the folder of the machine without a path, and below it with a relative one', async () => {
    const path = await put('tree/deep/x.find', 'needle\n');
    expect(await fleet.app.call(remoteGlob, { device, pattern: '**/*.find' })).toEqual({
      device,
      pattern: '**/*.find',
      path: fleet.dir,
      files: [path],
      count: 1,
      truncated: false,
      spill_path: null,
      total_chars: path.length,
      preview: null,
    });
    expect(await fleet.app.call(remoteGrep, { device, pattern: 'need.e', path: 'tree' })).toEqual({
      device,
      pattern: 'need.e',
      output_mode: 'files_with_matches',
      output: path,
      entries: 1,
      remaining: 0,
      engine: 'rg',
      truncated: false,
      spill_path: null,
      total_chars: path.length,
      preview: null,
    });
  });
  it('say how to go on when entries remain', async () => {
    await put('lines.grep', 'hit\n'.repeat(10));
    const args = { pattern: 'hit', path: 'lines.grep', output_mode: 'content', head_limit: 4, offset: 2 };
    const [block] = await blocks('remote_grep', args);
    expect(block!.text).toMatch(/:6:hit\n\[4 more entries; use offset 6\]$/);
  });
  it('spill what is too large', async () => {
    await put('wide.grep', `${'w'.repeat(300)}\n`.repeat(200));
    const args = { device, pattern: 'w+', path: 'wide.grep', output_mode: 'content' as const };
    const result = await fleet.app.call(remoteGrep, args);
    expect(result).toMatchObject({ output: '', truncated: true, entries: 200 });
    expect(await readFile(result.spill_path!, 'utf8')).toHaveLength(result.total_chars);
  });
  it('name a bad expression and a missing folder', async () => {
    await expect(fleet.app.call(remoteGrep, { device, pattern: '(' })).rejects.toMatchObject({
      kind: 'invalid_argument',
      field: 'pattern',
    });
    await expect(fleet.app.call(remoteGlob, { device, pattern: '*', path: '/none' })).rejects.toMatchObject({
      kind: 'not_found',
      message: 'path is no directory; list the folder above it',
    });
    const [none] = await blocks('remote_grep', { pattern: 'absent-everywhere' });
    expect(none!.text).toBe('(no matches)');
  });
});

describe('which device', () => {
  it('is unknown when machines.json does not name it, and the answer lists those online', async () =>
    await expect(fleet.app.call(remoteBash, { device: 'nobody', command: 'true' })).rejects.toMatchObject({
      kind: 'not_found',
      field: 'device',
      details: { online_devices: [device] },
      message: 'device is no registered machine; online now: lab',
    }));
  it('is unavailable when it is not connected, is recorded so, and the same call may come again', async () => {
    await fleet.joinCode('away');
    const call = () =>
      fleet.app.call(remoteBash, { device: 'away', command: 'true' }, { workspace: 'ws_away', key: 'same' });
    for (const _ of [1, 2]) {
      await expect(call()).rejects.toMatchObject({
        kind: 'unavailable',
        reason: 'device_offline',
        details: { online_devices: [device] },
      });
    }
    expect((await events('ws_away')).map(({ type, data }) => [type, data['reason']])).toEqual([
      ['RemoteCommandIssued', undefined],
      ['RemoteCommandFailed', 'offline'],
      ['RemoteCommandIssued', undefined],
      ['RemoteCommandFailed', 'offline'],
    ]);
  });
  it('T69 does not exist for a caller that its list of callers leaves out', async () => {
    const file = join(home(), 'config', 'machines.json');
    const machines = JSON.parse(await readFile(file, 'utf8')) as Record<string, object>;
    const open = (allow: object) =>
      writeFile(file, JSON.stringify({ ...machines, closed: { cortexPath: '/', gpuCount: 0, allow } }));
    const kindFor = (options: CallOptions) =>
      fleet.app.call(remoteBash, { device: 'closed', command: 'true' }, options).then(
        () => 'ran',
        (error: { kind: string }) => error.kind,
      );
    await open({ subs: ['per_9'], projects: ['p9'], workspaces: ['w9'] });
    await eventually(async () => (await kindFor({ principal: { id: 'per_9' } })) === 'unavailable');
    expect(await kindFor({})).toBe('not_found');
    expect(await kindFor({ principal: { type: 'agent', id: 'a1' }, scope: { user_id: 'per_9' } })).toBe('unavailable');
    expect(await kindFor({ scope: { project: 'p9' } })).toBe('unavailable');
    expect(await kindFor({ workspace: 'w9' })).toBe('unavailable');
    await open({});
    await eventually(async () => (await kindFor({ principal: { id: 'per_9' } })) === 'not_found');
    const entry = await fleet.app.host.bus.kv('cortex_tools').get('remote-ops');
    expect(Buffer.from(entry!.value).toString()).not.toContain('closed');
    await writeFile(file, JSON.stringify(machines));
  });
  it('stands in the description of the first tool, which follows machines.json', async () => {
    const described = async (): Promise<string> => {
      const entry = await fleet.app.host.bus.kv('cortex_tools').get('remote-ops');
      return entry!.json<{ tools: { name: string; description: string }[] }>().tools[0]!.description;
    };
    const file = join(home(), 'config', 'machines.json');
    const machines = JSON.parse(await readFile(file, 'utf8')) as Record<string, object>;
    await writeFile(file, JSON.stringify({ ...machines, tower: { cortexPath: 'C:\\x', gpuCount: 1, win: true } }));
    await eventually(async () => /Machines: .*lab, tower \(Windows\)$/.test(await described()));
    await writeFile(file, '{ broken');
    await writeFile(file, JSON.stringify({ bad: {} }));
    await eventually(() => fleet.app.log.some((line) => line.includes('the last good one stays in force')));
    expect(await described()).toContain('tower (Windows)');
    await writeFile(file, JSON.stringify(machines));
    await eventually(async () => !(await described()).includes('tower'));
  });
});

it('every call leaves its two records, with sizes and never with content', async () => {
  const file_path = await put('recorded.txt', 'secret content');
  await fleet.app.call(remoteRead, { device, file_path }, { ...newSession(), workspace: 'ws_records' });
  await fleet.app.call(
    remoteBash,
    { device, command: 'echo secret; exit 4', description: 'why' },
    { workspace: 'ws_records' },
  );
  const all = await events('ws_records');
  const command_id = expect.stringMatching(/^[0-9a-f]{16}$/);
  expect(all).toMatchObject([
    { type: 'RemoteCommandIssued', data: { command_id, device, action: 'read', target: file_path, description: '' } },
    {
      type: 'RemoteCommandCompleted',
      data: {
        command_id,
        device,
        action: 'read',
        duration_ms: expect.any(Number),
        bytes: 16,
        result_chars: 16,
        spilled: false,
      },
    },
    { type: 'RemoteCommandIssued', data: { action: 'bash', target: 'echo secret; exit 4', description: 'why' } },
    { type: 'RemoteCommandCompleted', data: { action: 'bash', exit_code: 4, result_chars: 7, spilled: false } },
  ]);
  expect(JSON.stringify(all)).not.toContain('secret content');
});

/** A real, if grey, PNG. */
function pngOf(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc((width + 1) * height))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

it('T89 leaves no part of a secret in the record of a command, also where the record is cut', async () => {
  const command = `echo ${'x'.repeat(180)} ghp_${'A'.repeat(36)}`;
  await fleet.app.call(remoteBash, { device, command }, { workspace: 'w-secret' });
  const [issued] = await events('w-secret');
  expect(issued?.data['target']).not.toContain('ghp_');
});
