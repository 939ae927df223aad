import { z } from 'zod';
import { type GROUPS, MODES, type Mode } from './gating.js';
import { Id } from './ids.js';

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

/** Source: agent-server, section 2.1. */
export type CapabilityGroup = (typeof GROUPS)[number];

/** Issuer of session tokens; told from the organisation's issuer by this alone. Source: gateway, section 10.10. */
export const sessionIssuer = (canonicalUri: string): string => `${new URL(canonicalUri).origin}/session`;

/** Claims of a session token beside the registered ones. Source: gateway, section 10.10. */
export const SessionTokenClaims = z.object({
  /** `per_` id of the person it belongs to, else `system`. */
  sub: z.string().min(1),
  sid: Id,
  kind: z.enum(SESSION_KINDS),
  parent: Id.optional(),
  groups: z.array(z.string()),
  allowlist: z.array(z.string()).optional(),
  workspace: Id.optional(),
  agent_id: Id.optional(),
  run_id: Id.optional(),
  space_id: Id.optional(),
  conversation_id: Id.optional(),
  mode: z.enum(MODES).optional(),
  project: z.string().optional(),
  channel: z.string().optional(),
});
export type SessionTokenClaims = z.infer<typeof SessionTokenClaims>;

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
  | {
      type: 'CompositionResolved';
      data: {
        session_id: string;
        backend: string | null;
        composition: string;
        groups: string[];
        allowlist: string[] | null;
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
