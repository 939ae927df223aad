import type { TicketKeysEvent } from '@cortex/contracts/ticket';
import { defineDecider } from '@cortex/eventstore';

export type KeysCommand = { type: 'ReserveKey'; ticket_id: string };

export interface KeysState {
  /** The last number that was given; 0 before the first. */
  last: number;
  /** The newest reservations, oldest first: a call that is repeated finds its own, and a key the ticket that no view shows yet. */
  recent: readonly { ticket_id: string; key: string }[];
}

/** One per workspace. */
export const KEYS_ID = 'all';
const PREFIX = 'T';
/**
 * A repeat that comes after so many others gets another number, and its first one stays unused: numbers count up, and gaps
 * between them are allowed.
 */
const REMEMBERED = 100;

/**
 * The numbers of a workspace's tickets. One aggregate, so that two who create at once never get the same one. A number is
 * reserved before its ticket is made: a crash between the two loses a number and never a ticket.
 */
export const keys = defineDecider<KeysCommand, TicketKeysEvent, KeysState>({
  subject: 'ticket.keys',
  initial: { last: 0, recent: [] },
  decide({ ticket_id }, state) {
    if (keyOf(state, ticket_id) !== undefined) return [];
    const number = state.last + 1;
    return [{ type: 'TicketKeyReserved', data: { ticket_id, number, key: `${PREFIX}-${number}` } }];
  },
  evolve({ recent }, { type, data }) {
    switch (type) {
      case 'TicketKeyReserved': {
        const { ticket_id, number, key } = data;
        return { last: number, recent: [...recent.slice(1 - REMEMBERED), { ticket_id, key }] };
      }
    }
  },
});

export const keyOf = (state: KeysState, ticket_id: string): string | undefined =>
  state.recent.find((reserved) => reserved.ticket_id === ticket_id)?.key;

/** The ticket of a key, where it is one of the newest. */
export const ticketOf = (state: KeysState, key: string): string | undefined =>
  state.recent.find((reserved) => reserved.key === key)?.ticket_id;
