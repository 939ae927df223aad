import { stat } from 'node:fs/promises';
import { join, parse, sep } from 'node:path';
import { deadlineExceeded, failedPrecondition, invalidArgument, notFound } from '@cortex/contracts';
import type { ActionContext } from '../commands.js';
import { stringParam } from '../params.js';
import { absolutePath, searchPath } from '../paths.js';
import { runProgram } from '../process.js';

const MOST = 500;
const LEFT_OUT = ['.git', '.svn', '.hg', 'node_modules', '__pycache__', '.tox', '.mypy_cache'];

/** Files below a folder whose path matches; ripgrep walks, since its matching takes linear time on any pattern. */
export async function globFiles(params: Record<string, unknown>, { rg, signal }: ActionContext) {
  const { folder, pattern } = split(stringParam(params, 'pattern'), stringParam(params, 'path'));
  const stats = await stat(folder).catch(() => null);
  if (!stats?.isDirectory()) throw notFound('path', 'is no directory', 'list the folder above it');
  if (rg === null) {
    throw failedPrecondition('device', 'has no ripgrep', 'list files with remote_bash (find)', {
      reason: 'invalid_state',
    });
  }
  const found: string[] = [];
  let rest = '';
  const { code, stderr } = await runProgram(rg, globArguments(pattern), {
    cwd: folder,
    signal,
    onOutput: (chunk) => {
      const names = (rest + chunk.toString('latin1')).split('\0');
      rest = names.pop()!;
      found.push(...names);
      return found.length <= MOST;
    },
  });
  if (signal.aborted) throw deadlineExceeded('path', 'was not searched to the end in time', 'search a smaller folder');
  if (code === 2 && found.length === 0 && stderr.includes('glob')) {
    throw invalidArgument('pattern', `is no valid glob (${stderr.trim().slice(0, 300)})`, 'correct it');
  }
  // Names are bytes: cut at NUL first, decoded after.
  const files = found.slice(0, MOST).map((name) => join(folder, Buffer.from(name, 'latin1').toString('utf8')));
  return { files: files.sort(), truncated: found.length > MOST };
}

function globArguments(pattern: string): string[] {
  return [
    '--no-config',
    '--files',
    '--null',
    '--hidden',
    '--no-ignore',
    '--no-messages',
    '--color=never',
    '--sort=path',
    // The slash ties it to the folder, and keeps a leading "!" from turning the meaning round.
    `--glob=/${pattern}`,
    ...LEFT_OUT.map((name) => `--glob=!**/${name}`),
  ];
}

/** An absolute pattern names its own folder: all before the first part with a wildcard. */
function split(pattern: string, path: string): { folder: string; pattern: string } {
  if (pattern === '') throw invalidArgument('pattern', 'is empty', 'give a glob such as **/*.ts');
  if (/[\0\n\r]/.test(pattern)) throw invalidArgument('pattern', 'holds a control character', 'remove it');
  const isAbsolute = pattern.startsWith('/') || /^[A-Za-z]:[\\/]/.test(pattern);
  if (!isAbsolute) return { folder: searchPath(path), pattern: pattern.replace(/^(\.\/)+/, '') };
  const parts = pattern.replaceAll('\\', sep === '\\' ? '/' : '\\').split('/');
  const wild = parts.findIndex((part) => /[*?[{]/.test(part));
  const cut = wild === -1 ? parts.length - 1 : wild;
  const base = parts.slice(0, cut).join('/') || parse(pattern).root;
  return { folder: absolutePath(base, 'pattern'), pattern: parts.slice(cut).join('/') };
}
