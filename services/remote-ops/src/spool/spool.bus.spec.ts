import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startFleet, type Fleet } from '../testing/fleet.js';
import { readPage, removeScript, type SpoolPage } from './spool-scripts.js';

let fleet: Fleet;
let folder: string;
beforeAll(async () => {
  fleet = await startFleet();
  const { home } = await fleet.device('lab');
  folder = join(home, '.cortex', 'tmp', 'signals');
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
});
const long = { from: 'waitpoint' as const, deadlineMs: 30_000 };
const read = (after: string | null = null, device = 'lab') =>
  fleet.app.ask<SpoolPage>('cmd', 'read_spool', { device, after }, long);
const remove = (names: string[]) => fleet.app.ask('cmd', 'remove_spool', { device: 'lab', names }, long);

describe('the signal spool of a device', () => {
  it('is empty where there is none', async () => {
    expect(await read()).toEqual({ files: [], next: null });
  });

  it('gives plain files of a plain name, in pages of whole files, and removes those that are named', async () => {
    await mkdir(folder, { recursive: true });
    const body = '{"id":"wp_1"}';
    const put = (name: string, content = body) => writeFile(join(folder, name), content);
    await put('a.json', 'ünï "quoted"\n$(touch pwned) `x`');
    await put('-rf.json');
    await put('draft.tmp');
    await put('b c.json');
    await put("d'; touch pwned; '.json");
    await put('$(touch pwned).json');
    await put('empty.json', '');
    await symlink('/etc/passwd', join(folder, 'link.json'));
    await mkdir(join(folder, 'folder.json'));
    for (const n of [1, 2, 3]) await put(`large${n}.json`, 'x'.repeat(64 * 1024));
    await put('larger.json', 'x'.repeat(64 * 1024 + 1));
    await put('z.json');
    const pages: SpoolPage[] = [];
    for (let after: string | null = null; pages.length === 0 || after !== null; after = pages.at(-1)!.next) {
      pages.push(await read(after));
    }
    expect(pages.length).toBeGreaterThan(1);
    const files = pages.flatMap((page) => page.files);
    expect(files.map(({ name, content }) => [name, content?.length ?? null])).toEqual([
      ['-rf.json', body.length],
      ['a.json', 31],
      ['empty.json', null],
      ['large1.json', 65_536],
      ['large2.json', 65_536],
      ['large3.json', 65_536],
      ['larger.json', null],
      ['z.json', body.length],
    ]);
    expect(files[1]!.content).toBe('ünï "quoted"\n$(touch pwned) `x`');
    await remove(['-rf.json', 'a.json', 'gone.json']);
    expect((await read()).files.map(({ name }) => name).slice(0, 2)).toEqual(['empty.json', 'large1.json']);
    expect(await readdir(folder)).not.toContain('pwned');
  });

  it('T64 takes no name that a shell could read as anything else', async () => {
    for (const name of ["x'; touch pwned; '.json", '../x.json', 'x.json\n', '$(x).json', 'x', '.tmp', '/etc/x.json']) {
      await expect(remove([name])).rejects.toMatchObject({ kind: 'invalid_argument' });
      await expect(read(name)).rejects.toMatchObject({ kind: 'invalid_argument' });
      expect(() => removeScript([name])).toThrow('is no name of a spool file');
    }
  });

  it('is not there to be asked for on a machine that is unknown or away', async () => {
    for (const device of ['none', 'x.y'])
      await expect(read(null, device)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('T68 drops what a device prints in another form', () => {
    expect(readPage('welcome to lab\na.json e30=\n../b.json e30=\nc.json {}\nd.json -\nmore\n')).toEqual({
      files: [
        { name: 'a.json', content: '{}' },
        { name: 'd.json', content: null },
      ],
      next: 'd.json',
    });
  });
});

it('T69 names only machines that the caller may reach', async () => {
  await writeFile(
    join(fleet.app.host.config['CORTEX_HOME'] as string, 'config', 'machines.json'),
    JSON.stringify({
      open: { cortexPath: '/', gpuCount: 0 },
      hidden: { cortexPath: '/', gpuCount: 0, allow: { subs: ['per_9'] } },
    }),
  );
  const names = async (id: string) =>
    (
      await fleet.app.ask<{ devices: string[] }>(
        'query',
        'reachable_devices',
        {},
        { from: 'waitpoint', principal: { id } },
      )
    ).devices;
  await eventually(async () => expect(await names('per_9')).toEqual(['hidden', 'open']));
  expect(await names('per_1')).toEqual(['open']);
  const known = async (args: Record<string, unknown>) =>
    (
      await fleet.app.ask<{ devices: { name: string }[] }>('query', 'devices', args, {
        from: 'mcp-edge',
        principal: { id: 'per_1' },
      })
    ).devices.map(({ name }) => name);
  expect(await known({ reachable: true })).toEqual(['open']);
  expect(await known({})).toContain('hidden');
});
