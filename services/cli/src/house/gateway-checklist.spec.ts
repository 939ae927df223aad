import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';

const ROOT = resolve(import.meta.dirname, '../../../..');
const PAGE = readFileSync(join(ROOT, 'docs/gateway-checklist.md'), 'utf8');
/** How many features the gateway has: a row that is dropped from the page is missed. */
const FEATURES = 223;

interface Row {
  number: number;
  ticked: boolean;
  /** As they stand on the page. */
  proofs: { file: string; name: string }[];
}

/** Each `- [x] **n** feature` with the lines of its tests below. */
const rows = PAGE.split(/^(?=- \[[ x]\] )/m)
  .filter((part) => part.startsWith('- ['))
  .map((part): Row => {
    const [, tick, number] = /^- \[(.)\] \*\*(\d+)\*\* \S/.exec(part) ?? [];
    const proofs = [...part.matchAll(/^ {2}- `([^`]+\.spec\.ts|npm run conformance)`: (`+)(.+)\2$/gm)];
    return {
      number: Number(number),
      ticked: tick === 'x',
      proofs: proofs.map(([, file = '', , name = '']) => ({ file, name: name.trim() })),
    };
  });

/** The names of tests carry ids of threats and failures, which say nothing to who reads the page. */
const plain = (name: string): string =>
  name.replaceAll(/ ?\((?:[PT]\d\d(?:, )?)+\)/g, '').replaceAll(/(^|› |, and |, )(?:[PT]\d\d:? )+/g, '$1');

type Node = { [key: string]: unknown };
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** The text of a literal; undefined of what is worked out at run time. */
function literal(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node['type'] === 'StringLiteral') return node['value'] as string;
  const { quasis, type } = node as { quasis?: { cooked: string }[]; type: string };
  return type === 'TemplateLiteral' && quasis?.length === 1 ? quasis[0]?.cooked : undefined;
}

/** `it`, `it.each(…)`, `describe.each(…)`: the name at the beginning of what is called. */
function rootOf(callee: unknown): unknown {
  if (!isNode(callee)) return undefined;
  if (callee['type'] === 'Identifier') return callee['value'];
  return rootOf(callee['type'] === 'MemberExpression' ? callee['object'] : callee['callee']);
}

/** Every test of a file, by the names that lead to it: `describe › it`. */
function testsOf(file: string): Set<string> {
  const found = new Set<string>();
  const walk = (node: unknown, above: readonly string[]): void => {
    if (Array.isArray(node)) return node.forEach((part) => walk(part, above));
    if (!isNode(node)) return;
    const args = (node['arguments'] ?? []) as { expression: unknown }[];
    const name = node['type'] === 'CallExpression' ? literal(args[0]?.expression) : undefined;
    const root = name === undefined ? undefined : rootOf(node['callee']);
    if (name !== undefined && root === 'it') found.add([...above, plain(name)].join(' › '));
    const below = name !== undefined && root === 'describe' ? [...above, plain(name)] : above;
    for (const part of Object.values(node)) walk(part, below);
  };
  walk(parseSync(readFileSync(join(ROOT, file), 'utf8'), { syntax: 'typescript', target: 'es2022' }), []);
  return found;
}

/** The scenarios of the official suite, each with the number of checks that have to succeed in it: `revision › scenario`. */
const SCENARIOS = JSON.parse(readFileSync(join(ROOT, 'services/cli/conformance-checks.json'), 'utf8')) as Record<
  string,
  Record<string, number>
>;
const scenarios = Object.entries(SCENARIOS).flatMap(([revision, of]) =>
  Object.keys(of).map((it) => `${revision} › ${it}`),
);

const tests = new Map<string, Set<string>>([['npm run conformance', new Set(scenarios)]]);
const known = (file: string): Set<string> => {
  const all = tests.get(file) ?? (existsSync(join(ROOT, file)) ? testsOf(file) : new Set<string>());
  tests.set(file, all);
  return all;
};

it('the gateway checklist has every row, and each once', () => {
  const numbers = rows.map(({ number }) => number).toSorted((a, b) => a - b);
  expect(numbers).toEqual(Array.from({ length: FEATURES }, (_, i) => i + 1));
});

it('a ticked row of the gateway checklist names a test, and one that is not ticked names none', () => {
  const wrong = rows.filter(({ ticked, proofs }) => ticked !== proofs.length > 0);
  expect(wrong.map(({ number }) => number)).toEqual([]);
});

it('every test that the gateway checklist names is there', () => {
  const missing = rows.flatMap(({ number, proofs }) =>
    proofs.filter(({ file, name }) => !known(file).has(name)).map(({ file, name }) => `${number} ${file}: ${name}`),
  );
  expect(missing).toEqual([]);
});

it('the conformance suite is run whole', () => {
  const numbers = Object.entries(SCENARIOS).map(([revision, of]) => [revision, Object.keys(of).length] as const);
  expect(Object.fromEntries(numbers)).toEqual({
    '2025-03-26': 1,
    '2025-06-18': 27,
    '2025-11-25': 33,
    '2026-07-28': 40,
  });
  expect(Object.values(SCENARIOS).flatMap((of) => Object.values(of).filter((checks) => checks === 0))).toEqual([]);
});
