import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startLab, type Lab } from '../testing/lab.js';
import { remoteEdit } from './remote-edit.tool.js';

let lab: Lab;
const device = 'lab';
beforeAll(async () => {
  lab = await startLab();
});
afterAll(async () => lab[Symbol.asyncDispose]());

it('replaces literally', async () => {
  const file_path = await lab.put('edit.txt', 'hi');
  const edit = { device, file_path, old_string: 'hi', new_string: '$&' };
  expect(await lab.app.call(remoteEdit, edit)).toEqual({ device, file_path, replacements: 1, instructions: [] });
  expect(await readFile(file_path, 'utf8')).toBe('$&');
  await expect(lab.app.call(remoteEdit, edit)).rejects.toMatchObject({
    kind: 'conflict',
    message: 'old_string is not in the file; read it again',
  });
  await expect(lab.app.call(remoteEdit, { ...edit, new_string: 'hi' })).rejects.toMatchObject({
    kind: 'invalid_argument',
    field: 'new_string',
  });
});
