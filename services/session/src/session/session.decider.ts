import { failedPrecondition, notFound } from '@cortex/contracts';
import type { DeliveryOrigin, SessionEvent } from '@cortex/contracts/session';
import { defineDecider } from '@cortex/eventstore';

/** What a session was started with; it never changes. */
export type SessionStart = Extract<SessionEvent, { type: 'SessionStarted' }>['data'];

export type SessionCommand =
  | { type: 'StartSession'; session_id: string; start: SessionStart }
  | { type: 'EndSession'; reason: string }
  | { type: 'DeliverMessage'; message_id: string; origin: DeliveryOrigin; text: string; tag: string | null };

export type SessionState =
  | { status: 'none' }
  | {
      status: 'open' | 'ended';
      start: SessionStart;
      started_at: string;
      ended_at: string | null;
      end_reason: string | null;
      /** Ids of the last messages, oldest first: a message is known again by its id. Their texts are in the view alone. */
      recent: readonly string[];
    };

/** A message that comes again behind so many others is recorded again; the inbox still shows it once. */
export const RECENT_MESSAGES = 128;

/** The life of an agent session and what was delivered to it. */
export const session = defineDecider<SessionCommand, SessionEvent, SessionState>({
  subject: 'session.session',
  initial: { status: 'none' },
  // What is delivered came from anywhere; a secret in it must not stay in the log for ever.
  descriptive: ['text'],
  decide(command, state) {
    switch (command.type) {
      case 'StartSession': {
        if (state.status !== 'none') return []; // its id is made of the call, so this is the same call again
        const { session_id, start } = command;
        const { backend, composition, groups, allowlist } = start;
        return [
          { type: 'SessionStarted', data: start },
          { type: 'CompositionResolved', data: { session_id, backend, composition, groups, allowlist } },
        ];
      }
      case 'EndSession':
        if (state.status === 'none') throw unknownSession();
        return state.status === 'ended' ? [] : [{ type: 'SessionEnded', data: { reason: command.reason } }];
      case 'DeliverMessage': {
        if (state.status === 'none') throw unknownSession();
        const { message_id, origin, text, tag } = command;
        if (state.recent.includes(message_id)) return [];
        if (state.status === 'ended') throw sessionEnded();
        return [{ type: 'MessageDelivered', data: { message_id, origin, delivery: 'held', text, tag } }];
      }
    }
  },
  evolve(state, event) {
    switch (event.type) {
      case 'SessionStarted': {
        const { data: start, at: started_at } = event;
        return { status: 'open', start, started_at, ended_at: null, end_reason: null, recent: [] };
      }
      case 'CompositionResolved':
        return state;
      case 'SessionEnded':
        return state.status === 'none'
          ? state
          : { ...state, status: 'ended', ended_at: event.at, end_reason: event.data.reason };
      case 'MessageDelivered':
        return state.status === 'none'
          ? state
          : { ...state, recent: [...state.recent, event.data.message_id].slice(-RECENT_MESSAGES) };
    }
  },
});

export const unknownSession = () => notFound('session_id', 'names no session', 'list them with: cortex session list');

export const sessionEnded = () =>
  failedPrecondition('session_id', 'names a session that has ended', 'open a new one with: cortex session open', {
    reason: 'invalid_state',
  });
