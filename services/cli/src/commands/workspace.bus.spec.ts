import { teamService } from '@cortex/team';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runningHome, type RunningHome } from '../testing/running-home.js';
import type { Workspace } from '../workspaces.js';

let home: RunningHome;
const cortex = (...args: string[]) => home.cortex('workspace', ...args);
const shown = async (id: string): Promise<Workspace> =>
  JSON.parse((await cortex('show', id, '--json')).out) as Workspace;
beforeAll(async () => {
  home = await runningHome({ beside: [teamService] });
});
afterAll(async () => home[Symbol.asyncDispose]());

describe('a workspace', () => {
  it('is made with the owner of the home as admin, once, and may be called something else', async () => {
    expect(await cortex('create', 'acme', '--name', 'Acme')).toMatchObject({
      code: 0,
      out: expect.stringContaining('as admin'),
    });
    const { members } = await shown('acme');
    expect(members).toEqual([{ principal_id: expect.stringMatching(/^per_/), role: 'admin' }]);
    expect((await cortex('create', 'acme')).out).toBe('acme is there already\n');
    expect((await cortex('create', 'acme', '--name', 'Globex')).out).toBe('acme is called Globex now\n');
    expect(await shown('acme')).toMatchObject({ name: 'Globex', members });
  });
  it('is listed, also for a program', async () => {
    await cortex('create', 'listed', '--no-admin');
    expect((await cortex('list')).out).toMatch(/workspace +name +members +since\n(.*\n)*listed +listed +0 +\d{4}-/);
    const { workspaces } = JSON.parse((await cortex('list', '--json')).out) as { workspaces: object[] };
    expect(workspaces).toContainEqual({ id: 'listed', name: 'listed', created_at: expect.any(String), members: 0 });
  });
  it('that does not exist is named, with what to do', async () => {
    for (const args of [
      ['show', 'none'],
      ['member', 'none', 'bob', '--role', 'member'],
      ['mode', 'none', 'write'],
    ])
      expect(await cortex(...args)).toMatchObject({
        code: 1,
        told: 'workspace_id is no workspace; make it with cortex workspace create',
      });
  });
  it.each(['a.b', '_', 'x'.repeat(65), ''])('cannot have the id %j', async (id) =>
    expect(await cortex('create', id)).toMatchObject({
      code: 2,
      told: expect.stringContaining('is no id of a workspace'),
    }),
  );
});

describe('a member', () => {
  it('is let in before the first login, and is then the person who logs in', async () => {
    await cortex('create', 'joined');
    expect(await cortex('member', 'joined', 'alice', '--role', 'member')).toMatchObject({ code: 0 });
    const { edge } = home;
    const seen = async () =>
      (await edge.call('list_workspaces', {})).body.result.structuredContent.workspaces.map(
        ({ id }: { id: string }) => id,
      );
    await eventually(async () => expect(await seen()).toContain('joined'));
    expect((await cortex('member', 'joined', 'alice', '--role', 'none')).out).toMatch(
      /^alice \(per_.*\) is out of joined\n$/,
    );
    await eventually(async () => expect(await seen()).not.toContain('joined'));
  });
  it('who is the only admin stays', async () => {
    await cortex('create', 'kept', '--admin', 'carol');
    expect(await cortex('member', 'kept', 'carol', '--role', 'none')).toMatchObject({
      code: 1,
      told: 'principal_id is the only admin; make somebody else an admin first',
    });
  });
  it('has a role that is known', async () =>
    expect(await cortex('member', 'acme', 'bob', '--role', 'owner')).toMatchObject({ code: 2 }));
});

describe('what a workspace asks or refuses', () => {
  it('is set, shown and taken away', async () => {
    await cortex('create', 'strict');
    await cortex('mode', 'strict', 'yolo');
    await cortex('autonomy', 'strict', 'coder', 'proposeOnly', '--space', 's1');
    const set = ['rule', 'set', 'strict', '--id', 'r1', '--class', 'gitPush', '--decision', 'deny'];
    expect(
      await cortex(...set, '--enforcement', 'soft', '--refs', 'main', '!main/x', '--max-count', '3', '--expires', '8h'),
    ).toMatchObject({ code: 0 });
    const command = [
      'rule',
      'set',
      'strict',
      '--id',
      'r2',
      '--command',
      'git  push',
      '--decision',
      'prompt',
      '--agent',
      'coder',
    ];
    expect(await cortex(...command)).toMatchObject({ code: 0 });
    expect(await shown('strict')).toMatchObject({
      approval_mode: 'yolo',
      dials: [{ agent_id: 'coder', space_id: 's1', level: 'proposeOnly' }],
      rules: [
        {
          id: 'r1',
          decision: 'deny',
          enforcement: 'soft',
          constraint: { refs: ['main', '!main/x'], max_count: 3 },
          expires_at: expect.any(String),
        },
        { id: 'r2', scope_type: 'agent', scope_id: 'coder', command_prefix: 'git push' },
      ],
    });
    expect((await cortex('show', 'strict')).out).toMatch(/approval mode {2}yolo/);
    expect((await cortex('rule', 'list', 'strict')).out).toMatch(/r1 +gitPush +workspace +deny \(soft\)/);
    expect((await cortex('rule', 'remove', 'strict', 'r1')).out).toBe('r1 is removed\n');
    expect(await cortex('rule', 'remove', 'strict', 'r1')).toMatchObject({
      code: 1,
      told: expect.stringContaining('has no rule r1'),
    });
  });
  it.each<[string, string[], string]>([
    ['about nothing', [], 'give one'],
    ['about a class and a command', ['--class', 'gitPush', '--command', 'git push'], 'give one'],
    ['in two places', ['--class', 'gitPush', '--agent', 'a', '--space', 's'], 'two places'],
    ['up to no number', ['--class', 'gitPush', '--max-count', 'many'], 'no whole number'],
    ['for no time', ['--class', 'gitPush', '--expires', 'soon'], 'no duration'],
  ])('a rule %s is a wrong command line', async (_what, flags, problem) =>
    expect(await cortex('rule', 'set', 'acme', '--decision', 'deny', ...flags)).toMatchObject({
      code: 2,
      told: expect.stringContaining(problem),
    }),
  );
  it('a rule about an unknown class names those that there are', async () =>
    expect(await cortex('rule', 'set', 'acme', '--decision', 'deny', '--class', 'gitPull')).toMatchObject({
      code: 1,
      told: expect.stringMatching(/rule\.action_class is none of the known values; use one of .*"gitPush"/),
    }));
});
