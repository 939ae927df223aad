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

export const movesOf = (status: GapStatus): readonly GapStatus[] => MOVES[status];
export const isEnded = (status: GapStatus): boolean => MOVES[status] === ENDED;
