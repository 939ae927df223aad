import type { ApprovalMode, Autonomy, GuardRule, Mode } from './gating.js';

export const WORKSPACE_ROLES = ['admin', 'member'] as const;
export type WorkspaceRole = (typeof WORKSPACE_ROLES)[number];

/** Events of `team.workspace`, aggregate id `all`. Source: architecture, ruling 15. */
export type WorkspaceEvent =
  | { type: 'WorkspaceCreated'; data: { name: string } }
  | { type: 'WorkspaceRenamed'; data: { name: string } }
  | { type: 'WorkspaceMemberSet'; data: { principal_id: string; role: WorkspaceRole } }
  | { type: 'WorkspaceMemberRemoved'; data: { principal_id: string } };

/** Events of `team.guardrules`, aggregate id `all`: rules, dials and approval mode of a workspace. Source: workspace-tools-2, sections 2.3, 2.4. */
export type GuardRulesEvent =
  | { type: 'ApprovalModeSet'; data: { mode: ApprovalMode } }
  | { type: 'GuardRuleSet'; data: { rule: GuardRule } }
  | { type: 'GuardRuleRemoved'; data: { rule_id: string } }
  | { type: 'AutonomySet'; data: { space_id: string | null; agent_id: string; level: Autonomy } };

/** Events of `team.space`; more of them come with the spaces themselves. */
export type SpaceEvent = {
  type: 'SpaceModeChanged';
  data: { space_id: string; from: Mode; to: Mode; cause: string };
};
