import type { ApprovalMode, Autonomy, GuardRule, Mode } from '@cortex/contracts';
import type { WorkspaceRole } from '@cortex/contracts/workspace';
import type { StartedSession } from '../projections/tables.js';

export interface WorkspaceView {
  /** Principal id → role. */
  members: ReadonlyMap<string, WorkspaceRole>;
}

export interface RunView {
  run_id: string;
  space_id: string | null;
  /** The ticket that the run was dispatched for. */
  ticket_id: string | null;
}

/** An open session as it was started. */
export type SessionView = Readonly<StartedSession & { workspace: string | null }>;

/**
 * What the gates read of workspaces, sessions, modes and rules: memory only. Every answer is about now or is not given: a gate first asks
 * `fresh`, and what lags the log by more than two seconds is waited for, then refused.
 */
export interface GateViews {
  /** True, or a promise of whether the views have caught up within two seconds. */
  fresh(): true | Promise<boolean>;
  workspace(id: string): WorkspaceView | undefined;
  /** `always-ask` where none was set. */
  approvalMode(workspace: string): ApprovalMode;
  /** The mode that the log shows for a space. */
  spaceMode(workspace: string, space: string): Mode | undefined;
  activeRun(workspace: string, agent: string): RunView | undefined;
  rules(workspace: string): readonly GuardRule[];
  readonly managed: readonly GuardRule[];
  /** The dial of the agent in the space, else its dial in the workspace, else `actWithApproval`. */
  autonomy(workspace: string, agent: string | undefined, space: string | undefined): Autonomy;
  /** Whether the log shows this agent session. What is unknown may be on its way: whoever asks waits and asks again. */
  sessionOpen(sid: string): 'open' | 'ended' | 'unknown';
  /** Of an open session alone. */
  session(sid: string): SessionView | undefined;
  /** The newest open session that runs as this agent; a look at all of them. */
  sessionOfAgent(agent_id: string): string | undefined;
}
