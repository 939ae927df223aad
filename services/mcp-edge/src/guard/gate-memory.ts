import { type ApprovalMode, type Autonomy, type GuardRule, type Mode, NO_WORKSPACE } from '@cortex/contracts';
import type { WorkspaceRole } from '@cortex/contracts/workspace';
import type { Selectable } from 'kysely';
import { SESSION_REMEMBERED_MS } from '../projections/gate-sessions.projection.js';
import type { GateTables } from '../projections/tables.js';
import type { RunView, SessionView, WorkspaceView } from './views.js';

/** A row of one of the tables, as JSON has it. */
export type GateRow<Table extends keyof GateTables> = Selectable<GateTables[Table]>;

/** The rows of the gates' tables, arranged for the questions that gates ask. Any row may be put again. */
export class GateMemory {
  readonly #workspaces = new Map<string, { members: Map<string, WorkspaceRole> }>();
  readonly #approvalModes = new Map<string, ApprovalMode>();
  readonly #rules = new Map<string, readonly GuardRule[]>();
  readonly #dials = new Map<string, Autonomy>();
  readonly #modes = new Map<string, Mode>();
  readonly #runs = new Map<string, RunView>();
  readonly #sessions = new Map<string, SessionView>();
  /** Session → when it ended, in ms; in the order in which they were told. */
  readonly #ended = new Map<string, number>();

  readonly put: { readonly [Table in keyof GateTables]: (row: GateRow<Table>) => void } = {
    workspaces: ({ workspace }) => void this.#workspaceOf(workspace),
    workspace_members: ({ workspace, principal_id, role }) => {
      const { members } = this.#workspaceOf(workspace);
      if (role === null) members.delete(principal_id);
      else members.set(principal_id, role);
    },
    approval_modes: ({ workspace, mode }) => void this.#approvalModes.set(workspace, mode),
    guard_rules: ({ workspace, rule_id, rule }) => {
      const others = this.rules(workspace).filter(({ id }) => id !== rule_id);
      this.#rules.set(workspace, rule === null ? others : [...others, rule]);
    },
    autonomy: ({ workspace, agent_id, space_id, level }) =>
      void this.#dials.set(`${workspace} ${agent_id} ${space_id}`, level),
    space_modes: ({ workspace, space_id, mode }) => void this.#modes.set(`${workspace} ${space_id}`, mode),
    active_runs: ({ workspace, agent_id, run_id, space_id, ticket_id, active }) => {
      const key = `${workspace} ${agent_id}`;
      if (active) this.#runs.set(key, { run_id, space_id, ticket_id });
      else this.#runs.delete(key);
    },
    open_sessions: ({ workspace, session_id, started, ended_at }) => {
      if (ended_at === null) {
        this.#sessions.set(session_id, { ...started, workspace: workspace === NO_WORKSPACE ? null : workspace });
        return;
      }
      this.#sessions.delete(session_id);
      this.#ended.set(session_id, Date.parse(ended_at));
    },
  };

  /** Before the rows of these tables are told from the beginning. */
  forget(tables: readonly (keyof GateTables)[]): void {
    const held: { readonly [Table in keyof GateTables]: readonly Map<string, unknown>[] } = {
      workspaces: [this.#workspaces],
      workspace_members: [this.#workspaces],
      approval_modes: [this.#approvalModes],
      guard_rules: [this.#rules],
      autonomy: [this.#dials],
      space_modes: [this.#modes],
      active_runs: [this.#runs],
      open_sessions: [this.#sessions, this.#ended],
    };
    for (const table of tables) for (const map of held[table]) map.clear();
  }

  /** Ends the memory of sessions whose tokens have all lapsed. */
  prune(now: number): void {
    for (const [sid, endedAt] of this.#ended) {
      if (now - endedAt < SESSION_REMEMBERED_MS) return;
      this.#ended.delete(sid);
    }
  }

  workspace(id: string): WorkspaceView | undefined {
    return this.#workspaces.get(id);
  }
  approvalMode(workspace: string): ApprovalMode {
    return this.#approvalModes.get(workspace) ?? 'always-ask';
  }
  rules(workspace: string): readonly GuardRule[] {
    return this.#rules.get(workspace) ?? [];
  }
  autonomy(workspace: string, agent = '', space = ''): Autonomy {
    const of = (where: string): Autonomy | undefined => this.#dials.get(`${workspace} ${agent} ${where}`);
    return of(space) ?? of('') ?? 'actWithApproval';
  }
  spaceMode(workspace: string, space: string): Mode | undefined {
    return this.#modes.get(`${workspace} ${space}`);
  }
  activeRun(workspace: string, agent: string): RunView | undefined {
    return this.#runs.get(`${workspace} ${agent}`);
  }
  sessionOpen(sid: string): 'open' | 'ended' | 'unknown' {
    if (this.#sessions.has(sid)) return 'open';
    return this.#ended.has(sid) ? 'ended' : 'unknown';
  }
  session(sid: string): SessionView | undefined {
    return this.#sessions.get(sid);
  }
  sessionOfAgent(agent_id: string): string | undefined {
    let newest: string | undefined;
    for (const [sid, session] of this.#sessions) if (session.agent_id === agent_id) newest = sid;
    return newest;
  }

  #workspaceOf(id: string): { members: Map<string, WorkspaceRole> } {
    let found = this.#workspaces.get(id);
    if (found === undefined) this.#workspaces.set(id, (found = { members: new Map() }));
    return found;
  }
}
