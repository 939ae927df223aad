import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startLab, type Lab } from '../testing/lab.js';
import { remoteGlob } from './remote-glob.tool.js';

let lab: Lab;
const device = 'lab';
beforeAll(async () => {
  lab = await startLab();
});
afterAll(async () => lab[Symbol.asyncDispose]());

it('searches the folder of the machine without a path', async () => {
  const path = await lab.put('tree/deep/x.find', 'needle\n');
  expect(await lab.app.call(remoteGlob, { device, pattern: '**/*.find' })).toEqual({
    device,
    pattern: '**/*.find',
    path: lab.dir,
    files: [path],
    count: 1,
    truncated: false,
    spill_path: null,
    total_chars: path.length,
    preview: null,
  });
});

it('names a missing folder', async () => {
  await expect(lab.app.call(remoteGlob, { device, pattern: '*', path: '/none' })).rejects.toMatchObject({
    kind: 'not_found',
    message: 'path is no directory; list the folder above it',
  });
});
