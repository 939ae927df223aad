import { execFileSync } from 'node:child_process';
import { chmod, link, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ActionContext } from '../commands.js';
import { editFile } from './edit.js';
import { readFileAction } from './read.js';
import { statFile } from './stat.js';
import { writeFileAction } from './write.js';

let dir: string;
let context: ActionContext;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cortex-actions-'));
  context = { home: join(dir, 'home'), signal: new AbortController().signal, rg: null };
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const put = async (name: string, content: string | Buffer): Promise<string> => {
  const path = join(dir, name);
  await writeFile(path, content);
  return path;
};
const read = (file_path: string, more: Record<string, unknown> = {}) => readFileAction({ file_path, ...more }, context);
const write = (file_path: string, content: string) => writeFileAction({ file_path, content }, context);
const edit = (file_path: string, old_string: string, new_string: string, replace_all = false) =>
  editFile({ file_path, old_string, new_string, replace_all }, context);

describe('read', () => {
  it('numbers lines from 1 and counts them', async () => {
    const path = await put('a.txt', 'one\ntwo\nthree\n');
    expect(await read(path)).toMatchObject({ content: '1\tone\n2\ttwo\n3\tthree', line_count: 3, total_lines: 3 });
    expect(await read(path, { offset: 1, limit: 1 })).toMatchObject({
      content: '2\ttwo',
      start_line: 2,
      line_count: 1,
    });
  });
  it('gives no lines past the end, and no error', async () =>
    expect(await read(await put('a', 'x\n'), { offset: 9 })).toMatchObject({
      content: '',
      line_count: 0,
      total_lines: 1,
    }));
  it('reads an empty file as no lines', async () =>
    expect(await read(await put('a', ''))).toMatchObject({ content: '', line_count: 0, total_lines: 0 }));
  it('decodes UTF-16 with a little-endian mark', async () => {
    const path = await put('a', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('grüß\r\nGott', 'utf16le')]));
    expect(await read(path)).toMatchObject({ content: '1\tgrüß\n2\tGott' });
  });
  it('tells images and PDFs by their first bytes, not by their name', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
    expect(await read(await put('a.txt', png))).toMatchObject({ image: { mimeType: 'image/png', originalSize: 16 } });
    expect(await read(await put('b.txt', '%PDF-1.7'))).toMatchObject({ pdf: { originalSize: 8 } });
    expect(await read(await put('c.png', 'BMW is a car maker from Munich, Bavaria'))).toMatchObject({ line_count: 1 });
  });
  it('refuses binary data', async () =>
    await expect(read(await put('a', Buffer.from([1, 0, 2])))).rejects.toMatchObject({ kind: 'failed_precondition' }));
  it('refuses more than 10 MB without reading it', async () => {
    const path = await put('big', '');
    await truncate(path, 10 * 1024 * 1024 + 1);
    await expect(read(path)).rejects.toMatchObject({ kind: 'resource_exhausted', field: 'file_path' });
  });
  it('refuses a folder, and never waits on a pipe or an endless device', async () => {
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    await expect(read(dir)).rejects.toMatchObject({ kind: 'failed_precondition' });
    await expect(read(join(dir, 'pipe'))).rejects.toMatchObject({ kind: 'failed_precondition' });
    await expect(read('/dev/zero')).rejects.toMatchObject({ kind: 'failed_precondition' });
  });
  it('says how many lines would fit when an answer has over 25,000 words', async () => {
    const path = await put('a', `${'w '.repeat(10_000)}\n`.repeat(5));
    await expect(read(path)).rejects.toMatchObject({
      kind: 'resource_exhausted',
      details: { total_lines: 5, suggested_limit: 2 },
    });
    expect(await read(path, { limit: 2 })).toMatchObject({ line_count: 2 });
  });
  it('wants an absolute path', async () =>
    await expect(read('a.txt')).rejects.toMatchObject({ kind: 'invalid_argument', field: 'file_path' }));
  it('T64 takes a path that begins with a dash or holds a NUL or quote literally or refuses it', async () => {
    const path = await put(`-e "x'\n`, 'ok');
    expect(await read(path)).toMatchObject({ content: '1\tok' });
    await expect(read(`${dir}/a\0b`)).rejects.toMatchObject({ kind: 'invalid_argument' });
  });
});

describe('instruction chain', () => {
  const paths = async (path: string) => (await read(path)).instructions.map((file) => file.path);

  it('goes from the folder of the file upwards, then to the home of the device', async () => {
    await mkdir(join(dir, 'p', 'q'), { recursive: true });
    await mkdir(context.home);
    const files = [
      join(dir, 'p', 'q', 'AGENTS.local.md'),
      join(dir, 'p', 'AGENTS.md'),
      join(context.home, 'AGENTS.md'),
    ];
    for (const file of files) await writeFile(file, file);
    expect(await paths(await put('p/q/a.txt', 'x'))).toEqual(files);
  });
  it('T31 attaches no link, whatever it points at', async () => {
    await writeFile(join(dir, 'secret'), 'secret');
    await symlink(join(dir, 'secret'), join(dir, 'AGENTS.md'));
    execFileSync('mkfifo', [join(dir, 'AGENTS.local.md')]);
    expect(await paths(await put('a.txt', 'x'))).toEqual([]);
  });
  it('skips a file over 200 KB', async () => {
    await writeFile(join(dir, 'AGENTS.md'), 'x'.repeat(200 * 1024 + 1));
    expect(await paths(await put('a.txt', 'x'))).toEqual([]);
  });
  it('marks the file that was itself read', async () => {
    const path = await put('AGENTS.md', 'notes');
    expect((await read(path)).instructions).toMatchObject([{ path, target: true }]);
  });
});

describe('write', () => {
  it('creates a file and the folders above it', async () => {
    const path = join(dir, 'x', 'y', 'a.txt');
    expect(await write(path, 'grüß')).toMatchObject({ bytes: 6, created: true });
    expect(await readFile(path, 'utf8')).toBe('grüß');
  });
  it('gives up where no folder can be made', async () => {
    await expect(write('/proc/none/x', '')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(write(`${await put('file', '')}/x/y`, '')).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
  it('replaces a file, keeping its mode and leaving nothing beside it', async () => {
    const path = await put('a.sh', 'old');
    await chmod(path, 0o750);
    expect(await write(path, 'new')).toMatchObject({ bytes: 3, created: false });
    expect((await stat(path)).mode & 0o777).toBe(0o750);
    expect(execFileSync('ls', ['-A', dir], { encoding: 'utf8' })).toBe('a.sh\n');
  });
  it('keeps CRLF where a file has mostly that', async () => {
    const path = await put('a.txt', 'a\r\nb\r\nc\n');
    await write(path, 'x\ny\r\n');
    expect(await readFile(path, 'utf8')).toBe('x\r\ny\r\n');
    const unix = await put('b.txt', 'a\nb\n');
    await write(unix, 'x\r\n');
    expect(await readFile(unix, 'utf8')).toBe('x\r\n');
  });
  it('writes through a link, also one whose end is not there yet', async () => {
    const path = join(dir, 'link');
    await symlink('real.txt', path);
    expect(await write(path, 'one')).toMatchObject({ created: true });
    await write(path, 'two');
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
    expect(await readFile(join(dir, 'real.txt'), 'utf8')).toBe('two');
  });
  it('refuses links that lead in a circle', async () => {
    await symlink('b', join(dir, 'a'));
    await symlink('a', join(dir, 'b'));
    await expect(write(join(dir, 'a'), 'x')).rejects.toMatchObject({ code: 'ELOOP' });
  });
  it('refuses what is no regular file', async () => {
    await expect(write(dir, 'x')).rejects.toMatchObject({ kind: 'failed_precondition' });
    await expect(write('/dev/null', 'x')).rejects.toMatchObject({ kind: 'failed_precondition' });
  });
  it('does not change the other name of a file that has two', async () => {
    const path = await put('a', 'old');
    await link(path, join(dir, 'b'));
    await write(path, 'new');
    expect(await readFile(join(dir, 'b'), 'utf8')).toBe('old');
  });
  it('takes base64, which a text full of control characters comes as', async () => {
    const path = join(dir, 'a');
    const content = Buffer.from('\0\0ü').toString('base64');
    expect(await writeFileAction({ file_path: path, content, encoding: 'base64' }, context)).toMatchObject({
      bytes: 4,
    });
  });
});

describe('edit', () => {
  it('takes the new text literally', async () => {
    const path = await put('a', 'x = 1;');
    expect(await edit(path, 'x', "$& $1 $' \\n")).toMatchObject({ replacements: 1 });
    expect(await readFile(path, 'utf8')).toBe("$& $1 $' \\n = 1;");
  });
  it('replaces all when told to, without looking at what it put there', async () => {
    const path = await put('a', 'aXaXa');
    expect(await edit(path, 'a', 'aa', true)).toMatchObject({ replacements: 3 });
    expect(await readFile(path, 'utf8')).toBe('aaXaaXaa');
  });
  it('finds text across line ends of the other kind and keeps those of the file', async () => {
    const path = await put('a', 'one\r\ntwo\r\nthree\r\n');
    await edit(path, 'one\ntwo', '1\n2');
    expect(await readFile(path, 'utf8')).toBe('1\r\n2\r\nthree\r\n');
    const unix = await put('b', 'one\ntwo\n');
    await edit(unix, 'one\r\ntwo', '1');
    expect(await readFile(unix, 'utf8')).toBe('1\n');
  });
  it('leaves mixed line ends elsewhere in the file as they are', async () => {
    const path = await put('a', 'a\r\nb\nc\r\nd\n\r\n');
    await edit(path, 'b\nc', 'X');
    expect(await readFile(path, 'utf8')).toBe('a\r\nX\r\nd\n\r\n');
  });
  it('keeps encoding and mark', async () => {
    const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
    const path = await put('a', utf16('grün'));
    await edit(path, 'ü', 'ö');
    expect(await readFile(path)).toEqual(utf16('grön'));
    const bom = await put('b', '\ufeffx');
    await edit(bom, 'x', 'y');
    expect(await readFile(bom, 'utf8')).toBe('\ufeffy');
  });
  it('keeps bytes that are no UTF-8', async () => {
    const path = await put('a', Buffer.from([0xe9, 0x20, 0x78]));
    await edit(path, 'x', 'y');
    expect(await readFile(path)).toEqual(Buffer.from([0xe9, 0x20, 0x79]));
    await expect(edit(path, 'y', '✓')).rejects.toMatchObject({ kind: 'invalid_argument', field: 'new_string' });
  });
  it('refuses a text that is not there, or there twice', async () => {
    const path = await put('a', 'x x');
    await expect(edit(path, 'y', 'z')).rejects.toMatchObject({
      kind: 'conflict',
      message: 'old_string is not in the file; read it again',
    });
    await expect(edit(path, 'x', 'z')).rejects.toMatchObject({
      kind: 'conflict',
      message: 'old_string occurs more than once; give more context or set replace_all',
    });
  });
  it('loses no edit of several at once', async () => {
    const path = await put('a', 'a b c d e f g h');
    await Promise.all(Array.from('abcdefgh').map((letter) => edit(path, letter, letter.toUpperCase())));
    expect(await readFile(path, 'utf8')).toBe('A B C D E F G H');
  });
  it('names a missing file', async () =>
    await expect(edit(join(dir, 'none'), 'a', 'b')).rejects.toMatchObject({ code: 'ENOENT' }));
});

it('file.stat tells size and name of a regular file', async () => {
  expect(await statFile({ file_path: await put('a.bin', 'abc') })).toMatchObject({ size: 3, name: 'a.bin' });
  await expect(statFile({ file_path: dir })).rejects.toMatchObject({ kind: 'failed_precondition' });
});
