import { TICKET_STATUSES, type TicketStatus } from '@cortex/contracts/ticket';
import { expect, it } from '@jest/globals';
import { isTerminal, STATUS_WORDS, statusOf, targetsOf } from './statuses.js';

const MEANT: Record<TicketStatus, string[]> = {
  backlog: ['backlog', 'Backlog', 'back-log'],
  open: ['open', 'todo', 'TO DO', 'ready', 'pending', 'new'],
  inProgress: ['inProgress', 'in_progress', 'in-progress', 'In Progress', 'doing', 'started', 'active', 'wip', 'WIP'],
  blocked: ['blocked', 'stuck'],
  inReview: ['inReview', 'in_review', 'IN REVIEW', 'review', 'reviewing'],
  done: ['done', 'closed', 'complete', 'completed', 'finished'],
  failed: ['failed', 'error', 'errored'],
  cancelled: ['cancelled', 'canceled', 'abandoned', 'dropped'],
};

it.each(Object.entries(MEANT).flatMap(([status, words]) => words.map((word) => [word, status])))(
  '"%s" means %s',
  (word, status) => expect(statusOf(word)).toBe(status),
);

it.each(['', '-', 'opened', 'in progres', 'constructor', '__proto__', 'done\0'])('"%s" means nothing', (word) =>
  expect(statusOf(word)).toBeUndefined(),
);

it('names every accepted word', () => {
  expect(STATUS_WORDS).toContain('inProgress (in_progress, doing, started, active, wip)');
  for (const status of TICKET_STATUSES) expect(STATUS_WORDS).toContain(status);
});

it('has three states that nothing follows', () => {
  expect(TICKET_STATUSES.filter(isTerminal)).toEqual(['done', 'failed', 'cancelled']);
  for (const status of TICKET_STATUSES) expect(targetsOf(status)).not.toContain(status);
});
