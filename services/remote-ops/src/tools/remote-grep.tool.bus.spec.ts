import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startLab, type Lab } from '../testing/lab.js';
import { remoteGrep } from './remote-grep.tool.js';

let lab: Lab;
const device = 'lab';
beforeAll(async () => {
  lab = await startLab();
});
afterAll(async () => lab[Symbol.asyncDispose]());

it('searches below the folder of the machine with a relative path', async () => {
  const path = await lab.put('tree/deep/x.find', 'needle\n');
  expect(await lab.app.call(remoteGrep, { device, pattern: 'need.e', path: 'tree' })).toEqual({
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

it('says how to go on when entries remain', async () => {
  await lab.put('lines.grep', 'hit\n'.repeat(10));
  const args = { pattern: 'hit', path: 'lines.grep', output_mode: 'content', head_limit: 4, offset: 2 };
  const [block] = await lab.blocks('remote_grep', args);
  expect(block!.text).toMatch(/:6:hit\n\[4 more entries; use offset 6\]$/);
});

it('spills what is too large', async () => {
  await lab.put('wide.grep', `${'w'.repeat(300)}\n`.repeat(200));
  const args = { device, pattern: 'w+', path: 'wide.grep', output_mode: 'content' as const };
  const result = await lab.app.call(remoteGrep, args);
  expect(result).toMatchObject({ output: '', truncated: true, entries: 200 });
  expect(await readFile(result.spill_path!, 'utf8')).toHaveLength(result.total_chars);
});

it('names a bad expression, and finds nothing without an error', async () => {
  await expect(lab.app.call(remoteGrep, { device, pattern: '(' })).rejects.toMatchObject({
    kind: 'invalid_argument',
    field: 'pattern',
  });
  const [none] = await lab.blocks('remote_grep', { pattern: 'absent-everywhere' });
  expect(none!.text).toBe('(no matches)');
});
