import type { TicketEvent, TicketStatus } from '@cortex/contracts/ticket';
import { projectionFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { migrations } from './tables.js';
import { tickets } from './tickets.projection.js';

const created: TicketEvent = {
  type: 'TicketCreated',
  data: {
    ticket_id: 'a1',
    key: 'T-1',
    provider: 'local',
    title: 'Fix login',
    description: null,
    priority: 2,
    labels: ['ui'],
    status: 'open',
    assignee_id: 'ag1',
    team_id: null,
    parent_ticket_id: null,
    space_id: null,
    origin_kind: 'manual',
    delegated_by_agent_id: null,
    delegation_depth: 0,
    delegation_root_ticket_id: null,
    pipeline_run_id: null,
    pipeline_step_id: null,
  },
};
const assigned: TicketEvent = {
  type: 'TicketAssigned',
  data: { ticket_id: 'a1', title: 'Fix login', assignee_id: 'ag1', assignee_type: 'agent', team_id: null },
};
const moved = (from: TicketStatus, to: TicketStatus, at: string): TicketEvent & { at: string } => ({
  type: 'TicketStatusChanged',
  at,
  data: { ticket_id: 'a1', from, to, forced: false },
});
const time = (minute: number) => `2026-01-05T10:0${minute}:00.000Z`;

it('counts a redelivered commit once, and a commit of several events as one change', async () => {
  await using t = await projectionFixture(tickets, migrations);
  const renamed: TicketEvent = { type: 'TicketDetailsUpdated', data: { ticket_id: 'a1', changes: { title: 'New' } } };
  await t.apply(7, created, assigned);
  await t.apply(7, created, assigned);
  await t.apply(9, renamed, moved('open', 'inProgress', time(1)), { type: 'TicketStarted', data: {} });
  await t.apply(9, renamed, moved('open', 'inProgress', time(1)), { type: 'TicketStarted', data: {} });
  const rows = await t.db.selectFrom('tickets').select(['title', 'labels', 'assignee_type', 'version']).execute();
  expect(rows).toEqual([{ title: 'New', labels: ['ui'], assignee_type: 'agent', version: 2 }]);
});

it('keeps when a ticket entered each state; one that is opened again has no end', async () => {
  await using t = await projectionFixture(tickets, migrations);
  const output = { summary: 'fixed', text: '\u0000 and \\u0000' };
  await t.apply(1, created);
  await t.apply(2, moved('open', 'blocked', time(1)));
  await t.apply(3, moved('blocked', 'inProgress', time(2)));
  await t.apply(4, moved('inProgress', 'done', time(3)), { type: 'TicketCompleted', data: { output } });
  const times = () =>
    t.db
      .selectFrom('tickets')
      .select(['blocked_at', 'started_at', 'completed_at', 'cancelled_at', 'finished_at', 'updated_at'])
      .executeTakeFirst();
  const ended = { blocked_at: time(1), started_at: time(2), completed_at: time(3), cancelled_at: null };
  expect(await times()).toEqual({ ...ended, finished_at: time(3), updated_at: time(3) });
  expect(await t.db.selectFrom('tickets').select('output').execute()).toEqual([{ output }]);
  await t.apply(5, moved('done', 'open', time(4)));
  expect(await times()).toEqual({ ...ended, finished_at: null, updated_at: time(4) });
  await t.apply(6, moved('open', 'cancelled', time(5)), { type: 'TicketCancelled', data: {} });
  expect(await times()).toMatchObject({ cancelled_at: time(5), finished_at: time(5) });
});

it('shows collaborators with the role they were given last, and the pull requests that are still linked', async () => {
  await using t = await projectionFixture(tickets, migrations);
  const joined = (role: 'reviewer' | 'collaborator'): TicketEvent => ({
    type: 'TicketCollaboratorAdded',
    data: { principal_id: 'ag2', principal_type: 'agent', role },
  });
  const linked = (id: string): TicketEvent => ({ type: 'TicketPullRequestLinked', data: { pr_external_id: id } });
  await t.apply(1, created);
  await t.apply(2, joined('collaborator'));
  await t.apply(3, joined('reviewer'));
  await t.apply(4, linked('PR_1'));
  await t.apply(5, linked('PR_2'));
  await t.apply(6, { type: 'TicketPullRequestUnlinked', data: { pr_external_id: 'PR_1' } });
  const roster = await t.db.selectFrom('ticket_collaborators').select(['principal_id', 'role']).execute();
  expect(roster).toEqual([{ principal_id: 'ag2', role: 'reviewer' }]);
  const rows = await t.db.selectFrom('tickets').select(['linked_pr_ids', 'version']).execute();
  expect(rows).toEqual([{ linked_pr_ids: ['PR_2'], version: 6 }]);
});

it('keeps the tickets of two workspaces apart, and knows where an id is', async () => {
  await using t = await projectionFixture(tickets, migrations);
  await t.apply(1, { ...created, workspace: 'w1' });
  await t.apply(2, { ...created, workspace: 'w2' });
  await t.apply(3, { ...moved('open', 'blocked', time(1)), workspace: 'w2' });
  const rows = await t.db.selectFrom('tickets').select(['workspace_id', 'status']).orderBy('workspace_id').execute();
  expect(rows).toEqual([
    { workspace_id: 'w1', status: 'open' },
    { workspace_id: 'w2', status: 'blocked' },
  ]);
  const ids = await t.db.selectFrom('ticket_ids').selectAll().orderBy('workspace').execute();
  expect(ids).toEqual([
    { ticket_id: 'a1', workspace: 'w1' },
    { ticket_id: 'a1', workspace: 'w2' },
  ]);
});

it('lets no event of a ticket that it does not know stop it', async () => {
  await using t = await projectionFixture(tickets, migrations);
  await t.apply(1, moved('open', 'done', time(1)), { type: 'TicketCompleted', data: { output: null } });
  await t.apply(2, created);
  expect(await t.db.selectFrom('tickets').select('version').execute()).toEqual([{ version: 1 }]);
});
