import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findRipgrep } from '../ripgrep.js';
import { globFiles } from './glob.js';
import { grepFiles } from './grep.js';

const rg = findRipgrep();
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cortex-search-'));
  await put('a.ts', 'const one = 1; // TODO\nconst two = 2;\n');
  await put('src/b.ts', 'TODO\nTODO\n');
  await put('src/deep/c.js', 'nothing here\n');
  await put('.hidden.ts', 'TODO hidden\n');
  await put('node_modules/x/d.ts', 'TODO\n');
  await put('.git/e.ts', 'TODO\n');
  await put('.gitignore', 'a.ts\n');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function put(name: string, content: string): Promise<string> {
  const path = join(dir, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
}
const context = (engine = rg) => ({ home: dir, signal: new AbortController().signal, rg: engine });
const glob = async (pattern: string, path = dir) => {
  const { files, truncated } = await globFiles({ pattern, path }, context());
  return { files: files.map((file) => file.replace(`${dir}/`, '')), truncated };
};
const grep = async (params: Record<string, unknown>, engine = rg) => {
  const found = await grepFiles({ path: dir, ...params }, context(engine));
  return { ...found, output: found.output.replaceAll(`${dir}/`, '') };
};

it('brings ripgrep along', () => expect(rg).not.toBeNull());

describe('glob', () => {
  it('matches across folders with **, in name order, without the left-out folders', async () =>
    expect(await glob('**/*.ts')).toEqual({ files: ['.hidden.ts', 'a.ts', 'src/b.ts'], truncated: false }));
  it('matches within the folder without **', async () => {
    expect((await glob('*.ts')).files).toEqual(['.hidden.ts', 'a.ts']);
    expect((await glob('src/*.ts')).files).toEqual(['src/b.ts']);
    expect((await glob('./src/**')).files).toEqual(['src/b.ts', 'src/deep/c.js']);
  });
  it('takes alternatives and an absolute pattern', async () => {
    expect((await glob('**/*.{js,ts}', join(dir, 'src'))).files).toEqual(['src/b.ts', 'src/deep/c.js']);
    expect((await glob(`${dir}/src/**/*.js`, '/nowhere')).files).toEqual(['src/deep/c.js']);
    expect((await glob(`${dir}/a.ts`)).files).toEqual(['a.ts']);
  });
  it('gives an empty list when nothing matches', async () =>
    expect(await glob('*.none')).toEqual({ files: [], truncated: false }));
  it('stops at 500 and says so', async () => {
    for (let i = 0; i < 501; i++) await put(`many/${String(i).padStart(3, '0')}.x`, '');
    const { files, truncated } = await glob('many/*.x');
    expect({ count: files.length, last: files.at(-1), truncated }).toEqual({
      count: 500,
      last: 'many/499.x',
      truncated: true,
    });
  });
  it('names a path that is no directory', async () =>
    await expect(glob('*', join(dir, 'a.ts'))).rejects.toMatchObject({
      kind: 'not_found',
      message: 'path is no directory; list the folder above it',
    }));
  it('names a bad pattern', async () =>
    await expect(glob('[z-a]')).rejects.toMatchObject({ kind: 'invalid_argument', field: 'pattern' }));
  it('finds names with line breaks, and bytes that are no UTF-8 do not stop it', async () => {
    await put('odd/a\nb.x', '');
    expect((await glob('odd/*.x')).files).toEqual(['odd/a\nb.x']);
  });
});

describe('grep', () => {
  it('lists files by default, gitignored and hidden ones too, in order', async () =>
    expect(await grep({ pattern: 'TODO' })).toEqual({
      output: '.hidden.ts\na.ts\nsrc/b.ts',
      entries: 3,
      remaining: 0,
      engine: 'rg',
    }));
  it('counts matches per file', async () =>
    expect(await grep({ pattern: 'TODO', output_mode: 'count' })).toMatchObject({
      output: '.hidden.ts:1\na.ts:1\nsrc/b.ts:2',
    }));
  it('shows lines with numbers unless told not to', async () => {
    const content = { pattern: 'two', output_mode: 'content' };
    expect(await grep(content)).toMatchObject({ output: 'a.ts:2:const two = 2;' });
    expect(await grep({ ...content, '-n': false })).toMatchObject({ output: 'a.ts:const two = 2;' });
    expect(await grep({ ...content, '-B': 1 })).toMatchObject({
      output: 'a.ts-1-const one = 1; // TODO\na.ts:2:const two = 2;',
    });
    expect(await grep({ ...content, context: 1, '-C': 0 })).toMatchObject({ output: 'a.ts:2:const two = 2;' });
  });
  it('pages by offset and limit and says how much remains', async () => {
    expect(await grep({ pattern: 'TODO', head_limit: 1 })).toMatchObject({
      output: '.hidden.ts',
      entries: 1,
      remaining: 2,
    });
    expect(await grep({ pattern: 'TODO', head_limit: 1, offset: 2 })).toMatchObject({
      output: 'src/b.ts',
      remaining: 0,
    });
    expect(await grep({ pattern: 'TODO', head_limit: 0 })).toMatchObject({ entries: 3, remaining: 0 });
    expect(await grep({ pattern: 'TODO', offset: 9 })).toMatchObject({ output: '', entries: 0, remaining: 0 });
  });
  it('filters by glob and type, ignores case, spans lines', async () => {
    expect(await grep({ pattern: 'TODO', glob: 'b.*' })).toMatchObject({ output: 'src/b.ts' });
    expect(await grep({ pattern: 'nothing', type: 'js' })).toMatchObject({ output: 'src/deep/c.js' });
    expect(await grep({ pattern: 'NOTHING', '-i': true })).toMatchObject({ entries: 1 });
    expect(await grep({ pattern: 'one.*two', multiline: true })).toMatchObject({ output: 'a.ts' });
  });
  it('cuts lines over 500 columns', async () => {
    const path = await put('long.txt', `needle${'x'.repeat(5000)}\n`);
    const { output } = await grep({ pattern: 'needle', output_mode: 'content', path });
    expect(output.length).toBeLessThan(600);
    expect(output).toContain('needle');
  });
  it('searches one file, and gives no match as a success', async () => {
    expect(await grep({ pattern: 'TODO', path: join(dir, 'a.ts') })).toMatchObject({ output: 'a.ts' });
    expect(await grep({ pattern: 'absent' })).toEqual({ output: '', entries: 0, remaining: 0, engine: 'rg' });
  });
  it('says what is wrong with an expression, a type, a path', async () => {
    await expect(grep({ pattern: '(' })).rejects.toMatchObject({
      kind: 'invalid_argument',
      message: expect.stringMatching(
        /^pattern is not a valid expression \(.*unclosed group.*\); escape it or correct it$/s,
      ),
    });
    await expect(grep({ pattern: 'x', type: 'nosuch' })).rejects.toMatchObject({ field: 'type' });
    await expect(grep({ pattern: 'x', glob: '[z-a]' })).rejects.toMatchObject({ field: 'glob' });
    await expect(grep({ pattern: 'x', path: join(dir, 'none') })).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('T64 takes what begins with a dash, and what looks like an option that runs a program, literally', async () => {
    const marker = join(dir, 'marker');
    const script = await put('run.sh', `#!/bin/sh\ntouch ${marker}\n`);
    await put('dash.txt', '--pre=x -f --files\n');
    expect(await grep({ pattern: '--pre=x' })).toMatchObject({ output: 'dash.txt' });
    expect(await grep({ pattern: '-f' })).toMatchObject({ output: 'dash.txt' });
    for (const value of [
      `--pre=${script}`,
      `--hostname-bin=${script}`,
      '-f/etc/passwd',
      '-',
      '--',
      "'; touch x",
      '"',
    ]) {
      await grep({ pattern: value });
      await grep({ pattern: 'x', glob: value });
      await expect(grep({ pattern: 'x', path: value })).rejects.toMatchObject({ kind: 'invalid_argument' });
      await expect(grep({ pattern: 'x', type: value })).rejects.toMatchObject({ kind: 'invalid_argument' });
      await glob(value);
      await expect(glob('x', value)).rejects.toMatchObject({ kind: 'invalid_argument' });
    }
    await expect(grep({ pattern: 'a\0b' })).rejects.toMatchObject({ kind: 'invalid_argument' });
    expect(await readdir(dir)).not.toContain('marker');
    await rm(join(dir, 'a.ts'));
    await put('-rf', 'TODO dash name\n');
    expect((await grep({ pattern: 'dash name' })).output).toBe('-rf');
    expect((await glob('-*')).files).toEqual(['-rf']);
  });
  it('T95 ends a search that takes too long, whatever the expression', async () => {
    const path = await put('costly.txt', `${'a'.repeat(4_000)}\n`.repeat(200));
    const costly = { pattern: '^(.*)(.*)(.*)(.*)\\1\\2\\3\\4.$', path };
    const slow = grepFiles(costly, { home: dir, signal: AbortSignal.timeout(300), rg: null });
    await expect(slow).rejects.toMatchObject({ kind: 'deadline_exceeded' });
    // ripgrep's own engine takes linear time, and has no back references at all.
    await expect(grep(costly)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'pattern' });
  });

  describe('without ripgrep', () => {
    it('falls back to grep', async () => {
      expect(await grep({ pattern: 'TODO' }, null)).toMatchObject({ entries: 3, engine: 'grep' });
      expect(await grep({ pattern: 'TODO', output_mode: 'count', glob: '*.ts' }, null)).toMatchObject({ entries: 3 });
      expect(await grep({ pattern: 'two', output_mode: 'content' }, null)).toMatchObject({
        output: 'a.ts:2:const two = 2;',
      });
      expect(await grep({ pattern: 'absent' }, null)).toMatchObject({ output: '', entries: 0 });
    });
    it('refuses what grep cannot do, and names a bad expression', async () => {
      await expect(grep({ pattern: 'x', type: 'ts' }, null)).rejects.toMatchObject({ kind: 'failed_precondition' });
      await expect(grep({ pattern: 'x', multiline: true }, null)).rejects.toMatchObject({
        kind: 'failed_precondition',
      });
      await expect(grep({ pattern: '(' }, null)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'pattern' });
    });
    it('T64 takes what begins with a dash literally', async () => {
      await put('dash.txt', '-f x\n');
      expect(await grep({ pattern: '-f' }, null)).toMatchObject({ output: 'dash.txt' });
    });
  });
});
