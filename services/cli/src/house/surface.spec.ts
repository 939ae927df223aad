import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as contracts from '@cortex/contracts';
import { SharedVariables } from '@cortex/service-kit/config';
import type { ServiceDefinition } from '@cortex/service-kit';
import { expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { benchCommand } from '../bench/bench.js';
import { program } from '../program.js';
import { loadServices } from '../services.js';

const ROOT = resolve(import.meta.dirname, '../../../..');
const PAGE = join(ROOT, 'docs/surface.md');
const INTRODUCTION = `# Surface

What others build on: clients, operators, and events that were written long ago. A test compares this page with the code. A
new line is an addition; a line that goes or changes breaks somebody, so it needs a reason, and what it replaces stays
readable. \`npm run surface\` writes the page anew; commit it with the change.
`;

/** A variable of ours in the text of a program that has no list of them. */
const VARIABLE = /'((?:CORTEX|OAUTH|BRIDGE)_[A-Z_]+|PORT|[A-Z]+_PORT|NODE_ENV)'/g;

const list = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n');
const section = (title: string, lines: readonly string[]): string => `## ${title}\n\n${list(lines)}\n`;
const code = (text: string): string => `\`${text}\``;
/** `what: a b c`, or `what` alone. */
const named = (what: string, names: readonly string[]): string =>
  names.length === 0 ? what : `${what}: ${codes(names)}`;
const codes = (texts: readonly string[]): string => texts.map(code).join(' ');

/** What a pattern finds in the sources: for what the code says in no list. */
function said(files: string, pattern: RegExp): string[] {
  const sources = globSync(files, { cwd: ROOT }).filter((file) => !file.endsWith('.spec.ts'));
  const found = sources.flatMap((file) => [...readFileSync(join(ROOT, file), 'utf8').matchAll(pattern)]);
  return [...new Set(found.map(([, name = '']) => name))].toSorted((a, b) => a.localeCompare(b));
}

function commands(command: Command, path: string): string[] {
  const flags = command.options.filter((option) => !option.hidden).map((option) => option.flags);
  const words = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  );
  return [
    named(code([path, ...words].join(' ')), flags),
    ...command.commands.flatMap((child) => commands(child, `${path} ${child.name()}`)),
  ];
}

/** The access table; what holds for each service alike is one line. */
function requests(): string[] {
  const rows = contracts.ACCESS.map(({ subject, owner, senders }) => ({
    line: (name: string) => `${code(subject.replace(`.${owner}.`, `.${name}.`))} sent by ${senders.join(', ')}`,
    owner,
  }));
  const alike = Map.groupBy(rows, (row) => row.line('SERVICE'));
  return [...alike].flatMap(([line, group]) =>
    group.length === contracts.SERVICES.length ? [line] : group.map((row) => row.line(row.owner)),
  );
}

/** Who reads which variable. */
function variables(services: readonly ServiceDefinition[]): string[] {
  const readers: [reader: string, names: readonly string[]][] = [
    ['every service', Object.keys(SharedVariables.shape)],
    ...services.map((service): [string, string[]] => [service.name, Object.keys(service.config.shape)]),
    ...['services/cli', 'services/device-client', 'libs/embedded'].map((part): [string, string[]] => [
      part.slice(part.indexOf('/') + 1),
      said(`${part}/src/**/*.ts`, VARIABLE),
    ]),
  ];
  const pairs = readers.flatMap(([reader, names]) => names.map((name) => ({ name, reader })));
  const byName = [...Map.groupBy(pairs, ({ name }) => name)].toSorted(([a], [b]) => a.localeCompare(b));
  return byName.map(([name, read]) => `${code(name)}: ${read.map(({ reader }) => reader).join(', ')}`);
}

async function surface(): Promise<string> {
  const services = (await loadServices()).map(({ def }) => def);
  const tools = services.flatMap((service) =>
    service.tools.map((tool) => {
      const { name, tier, actions, workspace, scopes = [] } = tool;
      const input = Object.keys(tool.input.shape).toSorted();
      const parts = [service.name, tier, `workspace ${workspace}`, ...actions, ...scopes];
      return named(`${code(name)} (${parts.join(', ')})`, input);
    }),
  );
  const endpoints = services.flatMap((service) => [
    ...(service.queries ?? []).map(({ name }) => contracts.subjects.query(service.name, name)),
    ...(service.commands ?? []).map(({ name }) => contracts.subjects.command(service.name, name)),
  ]);
  const readers = services.flatMap((service) =>
    [...(service.projections ?? []), ...(service.reactors ?? [])].map(
      ({ name, subject }) => `${code(`${service.name}/${name}`)} reads ${code(subject)}`,
    ),
  );
  const streams = [contracts.EVENTS_STREAM, contracts.CALLS_STREAM, contracts.SSE_STREAM, contracts.BLOBS];
  const samples = [
    contracts.subjects.event('<context>.<aggregate>', 'WORKSPACE', 'ID'),
    contracts.subjects.call('SERVICE', 'TOOL'),
    contracts.subjects.call('mcp-edge', contracts.REQUEST_RECORD),
    contracts.subjects.call('mcp-edge', contracts.AUTH_FAILURE_RECORD),
    contracts.subjects.sse('SESSION', 'STREAM'),
  ];
  return [
    INTRODUCTION,
    section('Tools', tools),
    section('Scopes', Object.values(contracts.SCOPES).map(code)),
    section('Event types', said('libs/contracts/src/**/*.ts', /\btype: '([A-Z][A-Za-z]+)'/g).map(code)),
    section('Subjects', [
      ...samples.map(code),
      ...requests(),
      ...endpoints.map((subject) => `${code(subject)} answered`),
    ]),
    section('Streams and buckets', [...streams, ...Object.values(contracts.BUCKETS).map(({ name }) => name)].map(code)),
    section('Projections and reactors', readers),
    section(
      'Errors',
      contracts.ERROR_KINDS.map((kind) => named(code(kind), contracts.REASONS[kind])),
    ),
    section('Environment', variables(services)),
    // The bench hands its words on to a command line of its own.
    section('Commands', [
      ...commands(program(), 'cortex').filter((line) => !line.startsWith('`cortex bench')),
      ...commands(benchCommand(), 'cortex bench'),
    ]),
  ].join('\n');
}

it('is what docs/surface.md says; a change of tools, events, subjects, scopes, variables or commands is made on purpose', async () => {
  const now = await surface();
  if (process.env['UPDATE_SURFACE'] === '1') writeFileSync(PAGE, now);
  const [pinned, found] = [readFileSync(PAGE, 'utf8'), now].map((text) => new Set(text.split('\n')));
  const gone = [...(pinned ?? [])].filter((line) => !found?.has(line)).map((line) => `gone: ${line}`);
  const added = [...(found ?? [])].filter((line) => !pinned?.has(line)).map((line) => `new: ${line}`);
  const differences = [...gone, ...added];
  if (differences.length > 0) {
    differences.push(
      'If you mean this change, run `npm run surface` and commit docs/surface.md with it; a line that is gone breaks somebody.',
    );
  }
  expect(differences).toEqual([]);
});
