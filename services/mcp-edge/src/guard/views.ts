import type { ApprovalMode, Autonomy, GuardRule, Mode } from '@cortex/contracts';

export interface WorkspaceView {
  /** Principal id → role. */
  members: ReadonlyMap<string, 'admin' | 'member'>;
  approval_mode: ApprovalMode;
}

export interface RunView {
  run_id: string;
  space_id?: string;
  /** The ticket that the run was dispatched for. */
  ticket_id?: string;
}

/**
 * What the gates read of workspaces, sessions, modes and rules: memory only. Every answer is about now or is not given: a gate first asks
 * `fresh`, and what lags the log by more than two seconds is waited for, then refused.
 */
export interface GateViews {
  /** True, or a promise of whether the views have caught up within two seconds. */
  fresh(): true | Promise<boolean>;
  workspace(id: string): WorkspaceView | undefined;
  /** The mode that the log shows for a space. */
  spaceMode(workspace: string, space: string): Mode | undefined;
  activeRun(workspace: string, agent: string): RunView | undefined;
  rules(workspace: string): readonly GuardRule[];
  readonly managed: readonly GuardRule[];
  autonomy(workspace: string, agent: string | undefined, space: string | undefined): Autonomy;
  /** Whether the log shows this agent session open. */
  sessionOpen(sid: string): boolean;
}

const WAIT_MS = 2_000;
const LOOK_MS = 50;

/**
 * Views over tables of this process. They are empty until somebody fills them, and then nothing of a workspace or a session is permitted;
 * `caughtUp` is told by who fills them, and while it is false every gated call waits and is then refused.
 */
export class TableViews implements GateViews {
  caughtUp = true;
  readonly workspaces = new Map<string, WorkspaceView>();
  readonly modes = new Map<string, Mode>();
  readonly runs = new Map<string, RunView>();
  readonly guardRules = new Map<string, GuardRule[]>();
  readonly dials = new Map<string, Autonomy>();
  readonly openSessions = new Set<string>();

  constructor(readonly managed: readonly GuardRule[] = []) {}

  fresh(): true | Promise<boolean> {
    return this.caughtUp || this.#wait();
  }

  async #wait(): Promise<boolean> {
    const until = performance.now() + WAIT_MS;
    while (!this.caughtUp && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    return this.caughtUp;
  }

  workspace(id: string): WorkspaceView | undefined {
    return this.workspaces.get(id);
  }
  spaceMode(workspace: string, space: string): Mode | undefined {
    return this.modes.get(`${workspace} ${space}`);
  }
  activeRun(workspace: string, agent: string): RunView | undefined {
    return this.runs.get(`${workspace} ${agent}`);
  }
  rules(workspace: string): readonly GuardRule[] {
    return this.guardRules.get(workspace) ?? [];
  }
  /** The space's word goes before the agent's. */
  autonomy(workspace: string, agent: string | undefined, space: string | undefined): Autonomy {
    return (
      this.dials.get(`${workspace} ${agent} ${space}`) ?? this.dials.get(`${workspace} ${agent}`) ?? 'actWithApproval'
    );
  }
  sessionOpen(sid: string): boolean {
    return this.openSessions.has(sid);
  }
}
