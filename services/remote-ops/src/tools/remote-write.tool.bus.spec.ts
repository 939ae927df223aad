import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startLab, type Lab } from '../testing/lab.js';
import { remoteWrite } from './remote-write.tool.js';

let lab: Lab;
const device = 'lab';
beforeAll(async () => {
  lab = await startLab();
});
afterAll(async () => lab[Symbol.asyncDispose]());

it('creates a file, replaces it, and never repeats the content', async () => {
  const file_path = join(lab.dir, 'new', 'a.txt');
  const write = { device, file_path, content: 'hi' };
  expect(await lab.app.call(remoteWrite, write)).toEqual({
    device,
    file_path,
    bytes: 2,
    created: true,
    instructions: [],
  });
  expect(await lab.app.call(remoteWrite, write)).toMatchObject({ created: false });
  const { body } = await lab.app.send('remote_write', { ...write, content: 'secret-content' });
  expect(body).not.toContain('secret-content');
  expect(await readFile(file_path, 'utf8')).toBe('secret-content');
});
it('takes 10 MB whole, also when JSON would blow them up, and refuses a byte more', async () => {
  const file_path = join(lab.dir, 'ten.txt');
  for (const letter of ['x', '\u0001']) {
    const content = letter.repeat(10 * 1024 * 1024);
    await lab.app.call(remoteWrite, { device, file_path, content }, { deadlineMs: 30_000 });
    expect((await readFile(file_path, 'utf8')) === content).toBe(true);
  }
  await expect(
    lab.app.call(remoteWrite, { device, file_path, content: 'x'.repeat(10 * 1024 * 1024 + 1) }),
  ).rejects.toMatchObject({
    kind: 'invalid_argument',
    message: 'content has 10485761 bytes, limit 10485760; write it in parts',
  });
});
it('passes on why the device could not', async () => {
  await expect(lab.app.call(remoteWrite, { device, file_path: '/proc/none/x', content: '' })).rejects.toMatchObject({
    kind: expect.stringMatching(/not_found|permission_denied/),
    field: 'file_path',
  });
  const file_path = await lab.put('file', 'x');
  await expect(
    lab.app.call(remoteWrite, { device, file_path: `${file_path}/below`, content: '' }),
  ).rejects.toMatchObject({ field: 'file_path' });
});
