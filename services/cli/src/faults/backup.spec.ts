import { readFileSync, statSync } from 'node:fs';
import { appendFile, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RunningCortex } from './running.js';

/** Each view is made anew, more than once. */
const LONG_MS = 360_000;
const CANARY = 'words-that-must-not-stay';
let cortex: RunningCortex;
let folder: string;
beforeAll(async () => {
  cortex = await RunningCortex.start();
  folder = join(cortex.dir, 'backup');
});
afterAll(() => cortex[Symbol.asyncDispose]());

const run = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await cortex.cortex(args);
  if (code !== 0) throw new Error(`cortex ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
};
/** Its ports were free for a while, and may be somebody's for a moment. */
const up = () => eventually(async () => expect(await cortex.up()).toMatchObject({ code: 0 }), 60_000);
const create = (workspace_id: string, title: string) =>
  cortex.call('create_ticket', { workspace_id, title, description: 'as it was' });
const titles = async (workspace: string): Promise<unknown[]> => {
  const rows = await cortex.sql(`select title from ticket.tickets where workspace_id = '${workspace}'`);
  return rows.map(({ title }) => title);
};
/** Sooner or later, as views are. */
const shows = (workspace: string, wanted: readonly string[]) =>
  eventually(async () => expect(await titles(workspace)).toEqual(expect.arrayContaining([...wanted])), 60_000);
const people = () => cortex.sql('select person_id, sub from mcp_edge.people order by person_id');

/** Every file below a folder that holds the text. */
async function filesWith(text: string, dir: string): Promise<string[]> {
  const files = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  return paths.filter((path) => readFileSync(path).includes(text));
}

it(
  'T99 brings an empty home to where a backup was taken under load: log, views, trail, people and keys',
  async () => {
    await run('workspace', 'create', 'doomed');
    await run('workspace', 'mode', 'doomed', 'yolo');
    await run('workspace', 'rule', 'set', 'doomed', '--class', 'vendorSyncWrite', '--decision', 'allow');
    expect(await create('default', 'before')).toMatchObject({ ok: true });
    expect(await create('doomed', CANARY)).toMatchObject({ ok: true });
    let over = false;
    const answered: string[] = [];
    const load = (async () => {
      for (let n = 0; !over; n++) {
        const { ok } = await create('default', `under load ${n}`);
        if (ok) answered.push(`under load ${n}`);
      }
    })();
    while (answered.length < 3) await new Promise((resolve) => setImmediate(resolve));
    const before = ['before', ...answered];
    await run('backup', folder);
    over = true;
    await load;
    const had = await people();

    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const file of files) {
      expect(statSync(join(file.parentPath, file.name)).mode & 0o777).toBe(file.isFile() ? 0o600 : 0o700);
    }
    const { bus, database } = JSON.parse(await readFile(join(folder, 'config/secrets.json'), 'utf8')) as {
      bus?: unknown;
      database?: unknown;
    };
    expect([bus, database]).toEqual([undefined, undefined]);

    await run('down');
    await rm(cortex.home.dir, { recursive: true });
    await run('restore', folder);
    await up();
    await shows('default', before);
    await shows('doomed', [CANARY]);
    expect(await people()).toEqual(had);
    await run('audit', 'verify');
    // No record tells of a ticket that is not there.
    const records = await cortex.records();
    const created = records.filter(
      (record) =>
        record.type === 'ToolCallFinished' && record.tool === 'create_ticket' && record.outcome === 'succeeded',
    );
    const there = [...(await titles('default')), ...(await titles('doomed'))];
    expect(there.length).toBeGreaterThanOrEqual(created.length);
    expect(await create('default', 'after')).toMatchObject({ ok: true });
  },
  LONG_MS,
);

it('leaves data alone that is there, and a backup that is not whole, before it touches anything', async () => {
  expect(await cortex.cortex(['restore', folder])).toMatchObject({ code: 4 });
  await run('down');
  expect(await cortex.cortex(['restore', folder])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/there is data already: \d+ messages in the log, .* --replace/),
  });
  const broken = join(cortex.dir, 'broken');
  await cp(folder, broken, { recursive: true });
  await appendFile(join(broken, 'streams/CORTEX_EVENTS'), 'x');
  for (const args of [['--replace'], ['--check']]) {
    expect(await cortex.cortex(['restore', broken, ...args])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('streams/CORTEX_EVENTS of the backup is not what was written'),
    });
  }
  await rm(join(broken, 'manifest.json'));
  expect(await cortex.cortex(['restore', broken, '--replace'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is no whole backup'),
  });
  await up();
  await shows('default', ['after']);
  expect(await cortex.cortex(['backup', folder])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is not empty'),
  });
});

it(
  'T91 erases a workspace from log, views and snapshots, while nobody is at work',
  async () => {
    expect(await cortex.cortex(['erase', 'workspace', 'doomed', '--yes'])).toMatchObject({ code: 4 });
    await run('down');
    expect(await cortex.cortex(['erase', 'workspace', 'doomed'])).toMatchObject({ code: 2 });
    const erased = JSON.parse(await run('erase', 'workspace', 'doomed', '--yes', '--json')) as {
      left: { table: string }[];
    };
    expect(erased).toMatchObject({ erased: 'doomed', left: [{ table: 'audit.tool_calls' }] });
    expect(await filesWith(CANARY, cortex.home.nats)).toEqual([]);
    await up();
    expect(await cortex.call('list_tickets', { workspace_id: 'doomed' })).toMatchObject({ ok: false });
    await shows('default', ['after']);
    await run('audit', 'verify');
    await run('down');
  },
  LONG_MS,
);

it(
  'T91 erases it again from an older backup that is restored, and not from a later one',
  async () => {
    const list = join(cortex.dir, 'erased.json');
    await writeFile(list, readFileSync(cortex.home.erased));
    await rm(cortex.home.dir, { recursive: true });
    const again = JSON.parse(await run('restore', folder, '--erased', list, '--json')) as { erased: unknown };
    expect(again.erased).toEqual({ workspaces: ['doomed'], commits: expect.any(Number) });
    expect(await filesWith(CANARY, cortex.home.nats)).toEqual([]);
    await up();
    expect(await create('default', 'after the erasure')).toMatchObject({ ok: true });
    await shows('default', ['before', 'after the erasure']);
    expect(await titles('doomed')).toEqual([]);
    await run('doctor');

    // What was erased before a backup is no reason to erase what came later under the same id.
    await run('workspace', 'create', 'doomed');
    const later = join(cortex.dir, 'later');
    await run('backup', later);
    await run('down');
    const kept = JSON.parse(await run('restore', later, '--replace', '--json')) as { erased: unknown };
    expect(kept.erased).toEqual({ workspaces: [], commits: 0 });
  },
  LONG_MS,
);
