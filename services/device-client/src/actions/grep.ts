import { stat } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { deadlineExceeded, failedPrecondition, invalidArgument, notFound } from '@cortex/contracts';
import type { ActionContext } from '../commands.js';
import { booleanParam, countParam, optionalString, stringParam } from '../params.js';
import { searchPath } from '../paths.js';
import { runProgram } from '../process.js';

const LEFT_OUT = ['.git', '.svn', '.hg', 'node_modules', '__pycache__'];
const COLUMNS = 500;
const DEFAULT_ENTRIES = 250;
/** Characters kept; entries beyond count as remaining. */
const OUTPUT_CHARS = 4_000_000;

interface Search {
  pattern: string;
  path: string;
  glob?: string;
  type?: string;
  mode: 'content' | 'files_with_matches' | 'count';
  after?: number;
  before?: number;
  around?: number;
  ignoreCase: boolean;
  lineNumbers: boolean;
  multiline: boolean;
}

/** Searches file contents with ripgrep, or with grep where there is none. */
export async function grepFiles(params: Record<string, unknown>, { rg, signal }: ActionContext) {
  const search = searchOf(params);
  if ((await stat(search.path).catch(() => null)) === null) {
    throw notFound('path', 'does not exist', 'list the folder above it');
  }
  const entries = new EntryWindow(
    countParam(params, 'offset') ?? 0,
    countParam(params, 'head_limit') ?? DEFAULT_ENTRIES,
    rg === null && search.mode === 'count' ? (line) => !line.endsWith(':0') : () => true,
  );
  const { code, stderr } = await runProgram(rg ?? 'grep', rg === null ? grepArguments(search) : rgArguments(search), {
    signal,
    onOutput: (chunk) => {
      entries.add(chunk);
      return true;
    },
  });
  if (signal.aborted) throw deadlineExceeded('path', 'was not searched to the end in time', 'search a smaller folder');
  // Status 2 also stands for files that could not be read; only a fault of ours stops before the search.
  if (code === 2 && entries.none) throwFault(stderr);
  return { ...entries.finish(), engine: rg === null ? 'grep' : 'rg' };
}

function searchOf(params: Record<string, unknown>): Search {
  const mode = optionalString(params, 'output_mode') ?? 'files_with_matches';
  if (mode !== 'content' && mode !== 'files_with_matches' && mode !== 'count') {
    throw invalidArgument('output_mode', 'is unknown', 'use content, files_with_matches or count');
  }
  const type = optionalString(params, 'type');
  if (type !== undefined && !/^[a-z0-9]+$/.test(type)) {
    throw invalidArgument('type', 'is no ripgrep file type', 'use one such as ts, py or rust');
  }
  const pattern = stringParam(params, 'pattern');
  const glob = optionalString(params, 'glob');
  for (const [field, value] of Object.entries({ pattern, glob })) {
    if (value?.includes('\0')) throw invalidArgument(field, 'holds a NUL character', 'remove it');
  }
  return {
    pattern,
    path: searchPath(stringParam(params, 'path')),
    ...(glob !== undefined && { glob }),
    ...(type !== undefined && { type }),
    mode,
    after: countParam(params, '-A'),
    before: countParam(params, '-B'),
    around: countParam(params, '-C') ?? countParam(params, 'context'),
    ignoreCase: booleanParam(params, '-i'),
    lineNumbers: params['-n'] !== false,
    multiline: booleanParam(params, 'multiline'),
  };
}

/** Values are glued to their option or stand behind `--`: nothing that begins with `-` is taken for an option. */
function rgArguments(search: Search): string[] {
  const { mode } = search;
  return [
    '--no-config', // a config file could name a program to run
    '--hidden',
    '--no-ignore',
    '--color=never',
    '--no-heading',
    '--with-filename',
    '--sort=path',
    ...(mode === 'files_with_matches' ? ['--files-with-matches'] : []),
    ...(mode === 'count' ? ['--count'] : []),
    ...(mode === 'content'
      ? [
          search.lineNumbers ? '--line-number' : '--no-line-number',
          `--max-columns=${COLUMNS}`,
          '--max-columns-preview',
          ...contextArguments(search),
        ]
      : []),
    ...(search.ignoreCase ? ['--ignore-case'] : []),
    ...(search.multiline ? ['--multiline', '--multiline-dotall'] : []),
    ...(search.type === undefined ? [] : [`--type=${search.type}`]),
    ...(search.glob === undefined ? [] : [`--glob=${search.glob}`]),
    ...LEFT_OUT.map((name) => `--glob=!**/${name}`),
    `--regexp=${search.pattern}`,
    '--',
    search.path,
  ];
}

function grepArguments(search: Search): string[] {
  for (const field of ['type', 'multiline'] as const) {
    if (search[field]) {
      throw failedPrecondition(field, 'needs ripgrep, which this device does not have', `leave ${field} out`);
    }
  }
  return [
    '-r',
    '-E',
    '-I',
    '-H',
    ...(search.mode === 'files_with_matches' ? ['-l'] : []),
    ...(search.mode === 'count' ? ['-c'] : []),
    ...(search.mode === 'content' ? [...(search.lineNumbers ? ['-n'] : []), ...contextArguments(search)] : []),
    ...(search.ignoreCase ? ['-i'] : []),
    ...(search.glob === undefined ? [] : [`--include=${search.glob}`]),
    ...LEFT_OUT.map((name) => `--exclude-dir=${name}`),
    `--regexp=${search.pattern}`,
    '--',
    search.path,
  ];
}

const contextArguments = ({ after, before, around }: Search): string[] => [
  ...(around === undefined ? [] : [`--context=${around}`]),
  ...(after === undefined ? [] : [`--after-context=${after}`]),
  ...(before === undefined ? [] : [`--before-context=${before}`]),
];

function throwFault(stderr: string): never {
  const message = stderr.trim().slice(0, 500);
  if (/unrecognized file type/.test(message)) throw invalidArgument('type', 'is unknown to ripgrep', 'leave it out');
  if (/regex|expression|grep: (Unmatched|Invalid|Trailing)|literal "\\n"/i.test(message)) {
    const said = message.replace(/^(rg|grep): /, '');
    throw invalidArgument('pattern', `is not a valid expression (${said})`, 'escape it or correct it');
  }
  if (/glob/.test(message)) throw invalidArgument('glob', `is not valid (${message})`, 'correct it');
  throw failedPrecondition('path', `could not be searched (${message || 'no reason given'})`, 'check it on the device');
}

/** The entries from `offset` on, at most `limit` of them (0: all); of the others only the number is kept. */
class EntryWindow {
  readonly #decoder = new StringDecoder('utf8');
  readonly #kept: string[] = [];
  #rest = '';
  #seen = 0;
  #chars = 0;
  #full = false;

  constructor(
    private readonly offset: number,
    private readonly limit: number,
    private readonly counts: (line: string) => boolean,
  ) {}

  get none(): boolean {
    return this.#seen === 0;
  }

  add(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop()!;
    if (this.#rest.length > OUTPUT_CHARS) this.#rest = this.#rest.slice(0, OUTPUT_CHARS); // grep does not cut lines
    lines.forEach((line) => this.#take(line));
  }

  #take(line: string): void {
    if (!this.counts(line)) return;
    const position = this.#seen++;
    if (position < this.offset || this.#full) return;
    const cut = line.length > COLUMNS * 4 ? `${line.slice(0, COLUMNS)} [... cut]` : line.replace(/\r$/, '');
    this.#chars += cut.length + 1;
    this.#kept.push(cut);
    this.#full = this.#kept.length === this.limit || this.#chars > OUTPUT_CHARS;
  }

  finish(): { output: string; entries: number; remaining: number } {
    if (this.#rest !== '') this.#take(this.#rest);
    const remaining = Math.max(0, this.#seen - this.offset - this.#kept.length);
    return { output: this.#kept.join('\n'), entries: this.#kept.length, remaining };
  }
}
