import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@cortex/testing';
import type { CallOptions } from '@cortex/testing/start-service';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLab, type Lab } from '../testing/lab.js';
import { remoteBash } from './remote-bash.tool.js';
import { remoteRead } from './remote-read.tool.js';

let lab: Lab;
const device = 'lab';
beforeAll(async () => {
  lab = await startLab();
});
afterAll(async () => lab[Symbol.asyncDispose]());

describe('which device', () => {
  it('is unknown when machines.json does not name it, and the answer lists those online', async () =>
    await expect(lab.app.call(remoteBash, { device: 'nobody', command: 'true' })).rejects.toMatchObject({
      kind: 'not_found',
      field: 'device',
      details: { online_devices: [device] },
      message: 'device is no registered machine; online now: lab',
    }));
  it('is unavailable when it is not connected, is recorded so, and the same call may come again', async () => {
    await lab.fleet.joinCode('away');
    const call = () =>
      lab.app.call(remoteBash, { device: 'away', command: 'true' }, { workspace: 'ws_away', key: 'same' });
    for (const _ of [1, 2]) {
      await expect(call()).rejects.toMatchObject({
        kind: 'unavailable',
        reason: 'device_offline',
        details: { online_devices: [device] },
      });
    }
    expect((await lab.events('ws_away')).map(({ type, data }) => [type, data['reason']])).toEqual([
      ['RemoteCommandIssued', undefined],
      ['RemoteCommandFailed', 'offline'],
      ['RemoteCommandIssued', undefined],
      ['RemoteCommandFailed', 'offline'],
    ]);
  });
  it('T69 does not exist for a caller that its list of callers leaves out', async () => {
    const file = join(lab.home, 'config', 'machines.json');
    const machines = JSON.parse(await readFile(file, 'utf8')) as Record<string, object>;
    const open = (allow: object) =>
      writeFile(file, JSON.stringify({ ...machines, closed: { cortexPath: '/', gpuCount: 0, allow } }));
    const kindFor = (options: CallOptions) =>
      lab.app.call(remoteBash, { device: 'closed', command: 'true' }, options).then(
        () => 'ran',
        (error: { kind: string }) => error.kind,
      );
    await open({ subs: ['per_9'], projects: ['p9'], workspaces: ['w9'] });
    await eventually(async () => (await kindFor({ principal: { id: 'per_9' } })) === 'unavailable');
    expect(await kindFor({})).toBe('not_found');
    expect(await kindFor({ principal: { type: 'agent', id: 'a1' }, scope: { user_id: 'per_9' } })).toBe('unavailable');
    expect(await kindFor({ scope: { project: 'p9' } })).toBe('unavailable');
    expect(await kindFor({ workspace: 'w9' })).toBe('unavailable');
    await open({});
    await eventually(async () => (await kindFor({ principal: { id: 'per_9' } })) === 'not_found');
    const entry = await lab.app.host.bus.kv('cortex_tools').get('remote-ops');
    expect(Buffer.from(entry!.value).toString()).not.toContain('closed');
    await writeFile(file, JSON.stringify(machines));
  });
  it('stands in the description of the first tool, which follows machines.json', async () => {
    const described = async (): Promise<string> => {
      const entry = await lab.app.host.bus.kv('cortex_tools').get('remote-ops');
      return entry!.json<{ tools: { name: string; description: string }[] }>().tools[0]!.description;
    };
    const file = join(lab.home, 'config', 'machines.json');
    const machines = JSON.parse(await readFile(file, 'utf8')) as Record<string, object>;
    await writeFile(file, JSON.stringify({ ...machines, tower: { cortexPath: 'C:\\x', gpuCount: 1, win: true } }));
    await eventually(async () => /Machines: .*lab, tower \(Windows\)$/.test(await described()));
    await writeFile(file, '{ broken');
    await writeFile(file, JSON.stringify({ bad: {} }));
    await eventually(() => lab.app.log.some((line) => line.includes('the last good one stays in force')));
    expect(await described()).toContain('tower (Windows)');
    await writeFile(file, JSON.stringify(machines));
    await eventually(async () => !(await described()).includes('tower'));
  });
});

it('every call leaves its two records, with sizes and never with content', async () => {
  const file_path = await lab.put('recorded.txt', 'secret content');
  await lab.app.call(remoteRead, { device, file_path }, { ...lab.newSession(), workspace: 'ws_records' });
  await lab.app.call(
    remoteBash,
    { device, command: 'echo secret; exit 4', description: 'why' },
    { workspace: 'ws_records' },
  );
  const all = await lab.events('ws_records');
  const command_id = expect.stringMatching(/^[0-9a-f]{16}$/);
  expect(all).toMatchObject([
    { type: 'RemoteCommandIssued', data: { command_id, device, action: 'read', target: file_path, description: '' } },
    {
      type: 'RemoteCommandCompleted',
      data: {
        command_id,
        device,
        action: 'read',
        duration_ms: expect.any(Number),
        bytes: 16,
        result_chars: 16,
        spilled: false,
      },
    },
    { type: 'RemoteCommandIssued', data: { action: 'bash', target: 'echo secret; exit 4', description: 'why' } },
    { type: 'RemoteCommandCompleted', data: { action: 'bash', exit_code: 4, result_chars: 7, spilled: false } },
  ]);
  expect(JSON.stringify(all)).not.toContain('secret content');
});
