import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@cortex/testing/temp-dir';
import { beforeAll, expect, it } from '@jest/globals';
import { readErased, together } from './erased.js';

let file: string;
beforeAll(async () => {
  file = join(await tempDir('erased'), 'erased.json');
});
const workspace = (id: string, at = '2026-01-01T00:00:00.000Z') => ({ kind: 'workspace' as const, id, at });

it('reads a list as it was written, and none where there is none', () => {
  expect(readErased(file)).toEqual([]);
  writeFileSync(file, JSON.stringify([workspace('w1')]));
  expect(readErased(file)).toEqual([workspace('w1')]);
});

it.each([
  ['all workspaces', [workspace('*')]],
  ['everything', [workspace('>')]],
  ['what belongs to no workspace', [workspace('_')]],
  ['two levels of a subject', [workspace('a.b')]],
  ['something else', [{ kind: 'person', id: 'p', at: '2026-01-01T00:00:00.000Z' }]],
  ['what was erased nobody knows when', [{ kind: 'workspace', id: 'w1' }]],
  ['what was erased at a time of another zone', [workspace('w1', '2026-01-01T02:00:00.000+02:00')]],
  ['nothing', null],
])('refuses a list that would erase %s', (_what, list) => {
  writeFileSync(file, JSON.stringify(list ?? { erased: true }));
  expect(() => readErased(file)).toThrow('is no list of what was erased');
});

it('lists what stands in two lists once, in the order in which it was erased', () => {
  const [first, second] = [workspace('w1'), workspace('w2', '2025-01-01T00:00:00.000Z')];
  expect(together([first], [first, second])).toEqual([second, first]);
});

it('lists what was erased twice with its last erasure, in whatever order the lists are read', () => {
  const [first, again] = [workspace('w1'), workspace('w1', '2026-03-01T00:00:00.000Z')];
  expect(together([first], [again])).toEqual([again]);
  expect(together([again], [first])).toEqual([again]);
});
