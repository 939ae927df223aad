import { TICKET_STATUSES, type TicketChanges, type TicketEvent, type TicketStatus } from '@cortex/contracts/ticket';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { describe, expect, it } from '@jest/globals';
import { MAX_LABELS, ticket, type TicketCommand, type TicketUpdate } from './ticket.decider.js';

const given = specFor(ticket);
const create: TicketCommand = {
  type: 'CreateTicket',
  ticket_id: 't1',
  key: 'T-7',
  title: 'Fix login',
  description: null,
  priority: 2,
  assignee: null,
  team_id: null,
};
const details = {
  ticket_id: 't1',
  key: 'T-7',
  provider: 'local' as const,
  title: 'Fix login',
  description: null,
  priority: 2,
  labels: [],
  status: 'open' as const,
  assignee_id: null,
  team_id: null,
  parent_ticket_id: null,
  space_id: null,
  origin_kind: 'manual' as const,
  delegated_by_agent_id: null,
  delegation_depth: 0,
  delegation_root_ticket_id: null,
  pipeline_run_id: null,
  pipeline_step_id: null,
};
const created: TicketEvent = { type: 'TicketCreated', data: details };
const is = (status: TicketStatus): TicketEvent => ({ type: 'TicketCreated', data: { ...details, status } });
const labelled = (...labels: string[]): TicketEvent => ({ type: 'TicketCreated', data: { ...details, labels } });
const update = (update: TicketUpdate): TicketCommand => ({ type: 'UpdateTicket', update });
const close = (output: Record<string, unknown> | null = null): TicketCommand => ({ type: 'CloseTicket', output });
const detailsUpdated = (changes: TicketChanges): TicketEvent => ({
  type: 'TicketDetailsUpdated',
  data: { ticket_id: 't1', changes },
});
const moved = (from: TicketStatus, to: TicketStatus): TicketEvent => ({
  type: 'TicketStatusChanged',
  data: { ticket_id: 't1', from, to, forced: false },
});
const completed = (output: Record<string, unknown> | null): TicketEvent => ({
  type: 'TicketCompleted',
  data: { output },
});

const started: TicketEvent[] = [moved('open', 'inProgress'), { type: 'TicketStarted', data: {} }];

describe('a new ticket', () => {
  it('is open', () => given().when(create).then(created));
  it('tells whom it is assigned to', () =>
    given()
      .when({ ...create, assignee: 'ag1', team_id: 'tm1' })
      .then(
        { type: 'TicketCreated', data: { ...details, assignee_id: 'ag1', team_id: 'tm1' } },
        {
          type: 'TicketAssigned',
          data: { ticket_id: 't1', title: 'Fix login', assignee_id: 'ag1', assignee_type: 'agent', team_id: 'tm1' },
        },
      ));
  it('is made once, however often its call is repeated', () =>
    given(created)
      .when({ ...create, key: 'T-8' })
      .thenNothing());
});

describe('an update', () => {
  it('records what differs alone', () =>
    given(created)
      .when(update({ title: 'Fix login', priority: 1, description: 'It hangs' }))
      .then(detailsUpdated({ priority: 1, description: 'It hangs' })));
  it('records nothing the second time', () =>
    given(created, detailsUpdated({ priority: 1, description: '' }))
      .when(update({ priority: 1, description: '' }))
      .thenNothing());
  it('records nothing the second time when the log has no secret of it', () =>
    given(created, detailsUpdated({ title: 'password=[redacted:secret]' }))
      .when(update({ title: 'password=hunter2' }))
      .thenNothing());
  it('that asks for nothing is refused', () => given(created).when(update({})).thenRejects('invalid_argument'));
  it('of what is not there is refused', () =>
    given()
      .when(update({ title: 'x' }))
      .thenRejects('not_found', 'ticket_id'));
  it('is one commit, whatever it changes', () =>
    given(created)
      .when(update({ title: 'New', status: 'inProgress' }))
      .then(detailsUpdated({ title: 'New' }), ...started));
  it('of a ticket that has ended still changes its details, but moves it nowhere', () =>
    given(is('done'))
      .when(update({ title: 'New', status: 'open' }))
      .then(detailsUpdated({ title: 'New' })));
});

describe('labels', () => {
  it('are replaced, then taken away, then added', () =>
    given(labelled('a'))
      .when(update({ labels: ['b', 'c', 'b'], remove_labels: ['c', 'd'], add_labels: ['d', 'b'] }))
      .then(detailsUpdated({ labels: ['b', 'd'] })));
  it('are added to those that are there', () =>
    given(labelled('a'))
      .when(update({ add_labels: ['b'] }))
      .then(detailsUpdated({ labels: ['a', 'b'] })));
  it('that make the same set record nothing', () =>
    given(labelled('a', 'b'))
      .when(update({ labels: ['b', 'a', 'b'] }))
      .thenNothing());
  it('are removed first, so that one that is in both lists stays', () =>
    given(labelled('a'))
      .when(update({ add_labels: ['a'], remove_labels: ['a'] }))
      .thenNothing());
  it('are refused beyond the limit, the present ones counted', () => {
    const many = Array.from({ length: MAX_LABELS }, (_, n) => `l${n}`);
    given(labelled(...many))
      .when(update({ add_labels: ['one more'] }))
      .thenRejects('invalid_argument', 'labels');
    given(labelled(...many))
      .when(update({ add_labels: ['one more'], remove_labels: ['l0'] }))
      .then(detailsUpdated({ labels: [...many.slice(1), 'one more'] }));
  });
});

/** From → to, as the table of the product has it. */
const GRAPH: Record<TicketStatus, TicketStatus[]> = {
  backlog: ['open', 'cancelled'],
  open: ['inProgress', 'blocked', 'cancelled'],
  inProgress: ['blocked', 'inReview', 'done', 'failed', 'cancelled'],
  blocked: ['inProgress', 'cancelled'],
  inReview: ['inProgress', 'done', 'failed', 'cancelled'],
  done: [],
  failed: [],
  cancelled: [],
};
const ARRIVED: Partial<Record<TicketStatus, TicketEvent>> = {
  inProgress: { type: 'TicketStarted', data: {} },
  done: completed(null),
  failed: { type: 'TicketFailed', data: { error_message: 'Failed' } },
  cancelled: { type: 'TicketCancelled', data: {} },
};

describe.each(TICKET_STATUSES)('from %s', (from) => {
  it.each(TICKET_STATUSES)('to %s', (to) => {
    const move = given(is(from)).when(update({ status: to }));
    if (!GRAPH[from].includes(to)) return move.thenNothing();
    const arrived = ARRIVED[to];
    move.then(moved(from, to), ...(arrived ? [arrived] : []));
  });

  it('it is closed unless it has ended', () => {
    const closed = given(is(from)).when(close({ summary: 'fixed' }));
    if (GRAPH[from].length === 0) return closed.thenNothing();
    closed.then(completed({ summary: 'fixed' }), moved(from, 'done'));
  });
});

it('closing what is not there is refused', () => given().when(close()).thenRejects('not_found', 'ticket_id'));

it('folds what earlier releases wrote', () => {
  expect(foldHistories(ticket, new URL('history/', import.meta.url))).toEqual({
    '0001-first.json': {
      ticket_id: '019b5f2e-0000-7000-8000-000000000001',
      key: 'T-1',
      provider: 'local',
      title: 'Fix login timeout',
      description: 'It hangs',
      priority: 1,
      labels: ['ui'],
      status: 'done',
      assignee_id: 'ag1',
      team_id: null,
    },
  });
});
