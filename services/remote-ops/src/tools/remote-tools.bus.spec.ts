import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startFleet, type Fleet } from '../testing/fleet.js';
import { remoteBash } from './remote-bash.tool.js';
import { remoteEdit } from './remote-edit.tool.js';
import { remoteGlob } from './remote-glob.tool.js';
import { remoteGrep } from './remote-grep.tool.js';
import { remoteRead } from './remote-read.tool.js';
import { remoteWrite } from './remote-write.tool.js';

// One service and one real client process for all tests of the file.
let fleet: Fleet;
const device = 'lab';
beforeAll(async () => {
  fleet = await startFleet();
  await fleet.device(device);
}, 60_000);
afterAll(async () => fleet[Symbol.asyncDispose]());

describe('remote_bash', () => {
  it('gives output and exit code of a command', async () => {
    const result = await fleet.app.call(remoteBash, { device, command: 'echo out; echo err >&2; exit 3' });
    expect(result).toMatchObject({
      device,
      exit_code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      timed_out: false,
      pid: null,
    });
  });
});

it('smoke: write, read, edit, glob, grep', async () => {
  const file_path = join(fleet.dir, 'a', 'b.txt');
  expect(await fleet.app.call(remoteWrite, { device, file_path, content: 'one\ntwo\n' })).toMatchObject({
    bytes: 8,
    created: true,
  });
  expect(await fleet.app.call(remoteRead, { device, file_path })).toMatchObject({
    content: '1\tone\n2\ttwo',
    total_lines: 2,
  });
  expect(await fleet.app.call(remoteEdit, { device, file_path, old_string: 'two', new_string: '$1' })).toMatchObject({
    replacements: 1,
  });
  expect(await readFile(file_path, 'utf8')).toBe('one\n$1\n');
  expect(await fleet.app.call(remoteGlob, { device, pattern: '**/*.txt', path: fleet.dir })).toMatchObject({
    files: [file_path],
  });
  expect(await fleet.app.call(remoteGrep, { device, pattern: 'one', path: fleet.dir })).toMatchObject({
    output: file_path,
    entries: 1,
  });
});
