import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { replaceFile } from './files.js';

it('changes nothing when the file is another one than the one that was looked at', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'cortex-files-'));
  try {
    const path = join(dir, 'a');
    await writeFile(path, 'read');
    const was = await stat(path, { bigint: true });
    await writeFile(path, 'changed meanwhile');
    await expect(replaceFile(path, Buffer.from('mine'), was)).rejects.toMatchObject({ kind: 'conflict' });
    await expect(replaceFile(path, Buffer.from('mine'), null)).rejects.toMatchObject({ kind: 'conflict' });
    await rm(path);
    await expect(replaceFile(path, Buffer.from('mine'), was)).rejects.toMatchObject({ kind: 'conflict' });
    await writeFile(path, 'theirs');
    expect(await readFile(path, 'utf8')).toBe('theirs');
    expect(await readdir(dir)).toEqual(['a']);
  } finally {
    await rm(dir, { recursive: true });
  }
});
