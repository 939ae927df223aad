import type { DeliveryOrigin } from '@cortex/contracts/session';
import { isOwnScope } from '@cortex/contracts/scopes';
import { groupsOf, neededScopes } from './composition.js';
import type { SessionStart } from './session.decider.js';

/** What is the same for every session that no runtime of ours drives. */
const UNDRIVEN = {
  backend: null,
  provider: null,
  model: null,
  thinking: null,
  mode: null,
  composition: 'direct',
  kind: 'direct',
  parent_session_id: null,
  agent_id: null,
  allowlist: null,
} as const;

export interface Opening {
  session_id: string;
  workspace: string | null;
  project: string;
  channel: string;
  person_id: string;
  /** What the person may do; the session gets what its tools need of it. */
  held: ReadonlySet<string>;
  execution_id: string;
  trigger: string;
}

/** The start of a session that a person opened for a client of its own. */
export function openedStart(opening: Opening): SessionStart {
  const { session_id, workspace, project, channel, person_id, held, execution_id, trigger } = opening;
  const groups = groupsOf({ userStarted: true, channel });
  return {
    ...UNDRIVEN,
    channel,
    project,
    user_started: true,
    root_session_id: session_id,
    person_id,
    groups,
    scopes: [
      ...neededScopes(groups, workspace).filter((scope) => held.has(scope)),
      // Of backends all that the person showed; which of them take a call without a person's token the edge knows.
      ...[...held].filter((scope) => !isOwnScope(scope)),
    ],
    execution_id,
    trigger,
  };
}

/**
 * The start of a session that is made because a message came for a channel on which none is open: it goes on for the one that
 * was there before, with no more than that one had. It runs nothing, so it is no execution.
 */
export function succeedingStart(
  session_id: string,
  channel: string,
  origin: DeliveryOrigin,
  before?: SessionStart,
): SessionStart {
  const groups = groupsOf({ userStarted: false, channel });
  return {
    ...UNDRIVEN,
    channel,
    project: before?.project ?? 'general',
    user_started: false,
    root_session_id: session_id,
    person_id: before?.person_id ?? null,
    groups,
    scopes: before?.scopes ?? [],
    execution_id: null,
    trigger: origin,
  };
}
