import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { homeOf, openHome } from './home.js';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'cortex-home-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it('makes a home and the folders above it, for its owner alone', () => {
  const home = homeOf(join(dir, 'a b', 'c'));
  openHome(home);
  openHome(home);
  for (const path of [home.dir, home.logs, join(home.dir, 'config')]) expect(statSync(path).mode & 0o777).toBe(0o700);
});

it('says that a home cannot be used where no folder can be made', () => {
  writeFileSync(join(dir, 'file'), '');
  expect(() => openHome(homeOf(join(dir, 'file', 'home')))).toThrow(/cannot be used: .*choose another with --home/);
  expect(() => openHome(homeOf('/proc/none/home'))).toThrow(/cannot be used/);
});
