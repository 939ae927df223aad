import { invalidArgument, notFound } from '@cortex/contracts';
import type { TicketChanges, TicketEvent, TicketProvider, TicketStatus } from '@cortex/contracts/ticket';
import { defineDecider, redact } from '@cortex/eventstore';
import { isTerminal, targetsOf } from './statuses.js';

export const MAX_LABELS = 50;

/** What an update may ask for; what is left out stays. */
export interface TicketUpdate {
  status?: TicketStatus | undefined;
  title?: string | undefined;
  description?: string | undefined;
  priority?: number | undefined;
  /** Replaces the set. */
  labels?: readonly string[] | undefined;
  /** Applied to `labels` or the current set: removal first, then addition. */
  remove_labels?: readonly string[] | undefined;
  add_labels?: readonly string[] | undefined;
}

export type TicketCommand =
  | {
      type: 'CreateTicket';
      ticket_id: string;
      key: string;
      title: string;
      description: string | null;
      priority: number;
      /** An agent of the workspace. */
      assignee: string | null;
      team_id: string | null;
    }
  | { type: 'UpdateTicket'; update: TicketUpdate }
  | { type: 'CloseTicket'; output: Record<string, unknown> | null };

export interface Ticket {
  ticket_id: string;
  key: string;
  provider: TicketProvider;
  title: string;
  description: string | null;
  priority: number;
  labels: readonly string[];
  status: TicketStatus;
  assignee_id: string | null;
  team_id: string | null;
}
export type TicketState = { status: 'none' } | Ticket;

/** The error text of a ticket that an update moved to `failed`. */
const FAILED_BY_UPDATE = 'Failed';

export const ticket = defineDecider<TicketCommand, TicketEvent, TicketState>({
  subject: 'ticket.ticket',
  initial: { status: 'none' },
  descriptive: ['error_message'],
  documents: ['description', 'output'],
  decide(command, state) {
    switch (command.type) {
      case 'CreateTicket':
        // Ids are minted per call: what is there already was made by an earlier try of the same call.
        return state.status === 'none' ? created(command) : [];
      case 'UpdateTicket':
        return updated(known(state), command.update);
      case 'CloseTicket': {
        const { ticket_id, status } = known(state);
        if (isTerminal(status)) return [];
        return [
          { type: 'TicketCompleted', data: { output: command.output } },
          { type: 'TicketStatusChanged', data: { ticket_id, from: status, to: 'done', forced: false } },
        ];
      }
    }
  },
  evolve(state, { type, data }) {
    switch (type) {
      case 'TicketCreated': {
        const { ticket_id, key, provider, title, description, priority, labels, status, assignee_id, team_id } = data;
        return { ticket_id, key, provider, title, description, priority, labels, status, assignee_id, team_id };
      }
      case 'TicketDetailsUpdated':
        return changed(state, data.changes);
      case 'TicketStatusChanged':
        return changed(state, { status: data.to });
      case 'TicketAssigned':
        return changed(state, { assignee_id: data.assignee_id, team_id: data.team_id });
      case 'TicketStarted':
      case 'TicketCompleted':
      case 'TicketFailed':
      case 'TicketCancelled':
        // The change of the status itself stands in the same commit.
        return state;
      case 'TicketCollaboratorAdded':
      case 'TicketPullRequestLinked':
      case 'TicketPullRequestUnlinked':
        // No rule of today asks for them.
        return state;
    }
  },
});

const changed = (state: TicketState, part: Partial<Ticket>): TicketState =>
  state.status === 'none' ? state : { ...state, ...part };

export function known(state: TicketState): Ticket {
  if (state.status === 'none') throw notFound('ticket_id', 'names no ticket of this workspace', 'see list_tickets');
  return state;
}

function created(command: Extract<TicketCommand, { type: 'CreateTicket' }>): TicketEvent[] {
  const { ticket_id, key, title, description, priority, assignee, team_id } = command;
  const events: TicketEvent[] = [
    {
      type: 'TicketCreated',
      data: {
        ticket_id,
        key,
        provider: 'local',
        title,
        description,
        priority,
        labels: [],
        status: 'open',
        assignee_id: assignee,
        team_id,
        parent_ticket_id: null,
        space_id: null,
        origin_kind: 'manual',
        delegated_by_agent_id: null,
        delegation_depth: 0,
        delegation_root_ticket_id: null,
        pipeline_run_id: null,
        pipeline_step_id: null,
      },
    },
  ];
  if (assignee !== null) {
    const data = { ticket_id, title, assignee_id: assignee, assignee_type: 'agent' as const, team_id };
    events.push({ type: 'TicketAssigned', data });
  }
  return events;
}

/** An illegal move changes nothing and refuses nothing: the rest is applied, and the tool's answer says so. */
function updated(state: Ticket, update: TicketUpdate): TicketEvent[] {
  if (Object.values(update).every((value) => value === undefined)) {
    throw invalidArgument(
      'arguments',
      'change nothing',
      'give at least one of status, title, description, priority, labels, add_labels, remove_labels',
    );
  }
  const { ticket_id, status: from } = state;
  const changes = changesOf(state, update);
  const events: TicketEvent[] = [];
  if (Object.keys(changes).length > 0) events.push({ type: 'TicketDetailsUpdated', data: { ticket_id, changes } });
  const { status: to } = update;
  if (to !== undefined && targetsOf(from).includes(to)) {
    const arrived = ARRIVED[to];
    events.push({ type: 'TicketStatusChanged', data: { ticket_id, from, to, forced: false } });
    if (arrived) events.push(arrived);
  }
  return events;
}

/** What is told of some states beside the change itself. */
const ARRIVED: Partial<Record<TicketStatus, TicketEvent>> = {
  inProgress: { type: 'TicketStarted', data: {} },
  done: { type: 'TicketCompleted', data: { output: null } },
  failed: { type: 'TicketFailed', data: { error_message: FAILED_BY_UPDATE } },
  cancelled: { type: 'TicketCancelled', data: {} },
};

function changesOf(state: Ticket, { title, description, priority, ...update }: TicketUpdate): TicketChanges {
  const labels = labelsOf(state.labels, update);
  return {
    // As the log has it: a secret in a title is not written, so the same title again must compare without it.
    ...(title !== undefined && redact(title) !== state.title && { title }),
    ...(description !== undefined && description !== (state.description ?? '') && { description }),
    ...(priority !== undefined && priority !== state.priority && { priority }),
    ...(!sameSet(labels, state.labels) && { labels }),
  };
}

function labelsOf(current: readonly string[], update: Omit<TicketUpdate, 'title' | 'description' | 'priority'>) {
  const labels = new Set(update.labels ?? current);
  for (const label of update.remove_labels ?? []) labels.delete(label);
  for (const label of update.add_labels ?? []) labels.add(label);
  if (labels.size <= MAX_LABELS) return [...labels];
  throw invalidArgument('labels', `would be ${labels.size}`, `a ticket has at most ${MAX_LABELS}; remove some`, {
    reason: 'too_large',
    details: { limit: MAX_LABELS, actual: labels.size },
  });
}

const sameSet = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((label) => b.includes(label));
