import { TICKET_STATUSES, type TicketStatus } from '@cortex/contracts/ticket';

/** What else people write for a status; case and `-`, `_`, space do not count. */
const ALIASES: Readonly<Record<TicketStatus, readonly string[]>> = {
  backlog: [],
  open: ['todo', 'ready', 'pending', 'new'],
  inProgress: ['in_progress', 'doing', 'started', 'active', 'wip'],
  blocked: ['stuck'],
  inReview: ['in_review', 'review', 'reviewing'],
  done: ['closed', 'complete', 'completed', 'finished'],
  failed: ['error', 'errored'],
  cancelled: ['canceled', 'abandoned', 'dropped'],
};

/** Where a tool or an automation may move a ticket. To stay where it is, is no move. */
const TARGETS: Readonly<Record<TicketStatus, readonly TicketStatus[]>> = {
  backlog: ['open', 'cancelled'],
  open: ['inProgress', 'blocked', 'cancelled'],
  inProgress: ['blocked', 'inReview', 'done', 'failed', 'cancelled'],
  blocked: ['inProgress', 'cancelled'],
  inReview: ['inProgress', 'done', 'failed', 'cancelled'],
  done: [],
  failed: [],
  cancelled: [],
};

const plain = (word: string): string => word.replace(/[-_\s]/g, '').toLowerCase();

const BY_WORD: ReadonlyMap<string, TicketStatus> = new Map(
  TICKET_STATUSES.flatMap((status) => [status, ...ALIASES[status]].map((word) => [plain(word), status] as const)),
);

/** The status that a word means, undefined for none. */
export const statusOf = (word: string): TicketStatus | undefined => BY_WORD.get(plain(word));

/** Every accepted word: `open (todo, ready, pending, new), …`. */
export const STATUS_WORDS = TICKET_STATUSES.map((status) =>
  ALIASES[status].length === 0 ? status : `${status} (${ALIASES[status].join(', ')})`,
).join(', ');

export const targetsOf = (status: TicketStatus): readonly TicketStatus[] => TARGETS[status];

/** Nothing follows it. */
export const isTerminal = (status: TicketStatus): boolean => TARGETS[status].length === 0;
