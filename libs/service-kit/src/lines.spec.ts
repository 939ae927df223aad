import { closeSync, openSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@cortex/testing/eventually';
import { tempDir } from '@cortex/testing/temp-dir';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LineWriter } from './lines.js';

let dir: string;
beforeAll(async () => (dir = await tempDir('lines')));
afterAll(async () => rm(dir, { recursive: true, force: true }));

it('writes every line, in order, however many come and however long they are', async () => {
  const file = join(dir, 'all');
  const fd = openSync(file, 'a');
  const lines = new LineWriter(fd);
  const said = Array.from({ length: 5_000 }, (_, n) => `${n} ${'äöü€🙂'.repeat(n % 50)}`);
  said[2_500] = 'x'.repeat(1_000_000);
  for (const line of said) lines.write(line);
  await lines.end();
  expect(readFileSync(file, 'utf8').split('\n').slice(0, -1)).toEqual(said);
  expect(lines.dropped).toBe(0);
  closeSync(fd);
});

it('writes a single line soon, though others may never come', async () => {
  const file = join(dir, 'one');
  const fd = openSync(file, 'a');
  new LineWriter(fd).write('{"a":1}');
  await eventually(() => expect(readFileSync(file, 'utf8')).toBe('{"a":1}\n'));
  closeSync(fd);
});

it('drops and counts what nobody takes, and never fails', async () => {
  const lines = new LineWriter(openSync('/dev/full', 'w'));
  for (let n = 0; n < 3; n++) lines.write('lost');
  await lines.end();
  expect(lines.dropped).toBe(3);
  const closed = new LineWriter(99_999);
  closed.write('lost');
  await closed.end();
  expect(closed.dropped).toBe(1);
});

it('holds so much of a slow reader and no more', () => {
  const lines = new LineWriter(openSync('/dev/null', 'w'));
  const line = 'x'.repeat(1_000_000);
  for (let n = 0; n < 30; n++) lines.write(line);
  expect(lines.dropped).toBeGreaterThan(5);
});
