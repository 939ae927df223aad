import type { GapStatus } from '@cortex/contracts/gap';

const ENDED: readonly GapStatus[] = ['triaged'];

/** Where a ticket may go from each status. Source: gateway, section 16.5. */
const MOVES: Readonly<Record<GapStatus, readonly GapStatus[]>> = {
  open: ['triaged', 'planned', 'resolved', 'wont_fix', 'duplicate'],
  triaged: ['planned', 'resolved', 'wont_fix', 'duplicate'],
  planned: ['resolved', 'wont_fix', 'duplicate'],
  resolved: ENDED,
  wont_fix: ENDED,
  duplicate: ENDED,
};

/** Statuses that a ticket with this one may be given. */
export const movesOf = (status: GapStatus): readonly GapStatus[] => MOVES[status];
/** Whether nothing more is going to become of it, unless it is opened again. */
export const isEnded = (status: GapStatus): boolean => MOVES[status] === ENDED;
