import type { Mode } from './gating.js';

export const SESSION_KINDS = ['direct', 'worker', 'subagent', 'run'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** Where a message of a session came from. Source: agent-server, section 22.2. */
export const DELIVERY_ORIGINS = [
  'user',
  'agent-result',
  'external-signal',
  'worker-report',
  'worker-request',
  'lead-message',
  'interaction-answer',
  'decision-response',
  'schedule',
  'callback',
] as const;
export type DeliveryOrigin = (typeof DELIVERY_ORIGINS)[number];

/** Events of `session.session`, aggregate id = the session's id, in the session's workspace. Source: agent-server, section 24. */
export type SessionEvent =
  | {
      type: 'SessionStarted';
      data: {
        channel: string;
        project: string;
        backend: string | null;
        provider: string | null;
        model: string | null;
        thinking: string | null;
        mode: Mode | null;
        composition: string;
        user_started: boolean;
        kind: SessionKind;
        parent_session_id: string | null;
        /** The session at the root of the tree; its own id where nobody started it. */
        root_session_id: string;
        /** `per_` id of the person it belongs to. */
        person_id: string | null;
        agent_id: string | null;
        groups: string[];
        allowlist: string[] | null;
        /** At most these stand in its tokens. */
        scopes: string[];
        /** The execution that it runs as. */
        execution_id: string | null;
        trigger: string;
      };
    }
  | { type: 'SessionEnded'; data: { reason: string } }
  | {
      type: 'MessageDelivered';
      data: {
        message_id: string;
        origin: DeliveryOrigin;
        delivery: 'folded' | 'new_turn' | 'held';
        text: string;
        tag: string | null;
      };
    };
