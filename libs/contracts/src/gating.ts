import type { ActionClass } from './tool.js';

/**
 * What the gates of the edge decide on, and the built-in agent runtime a second time: the one data module of conversation modes, pinned
 * verbs and approval-gated tools. Names that are not built yet stand here too; a test compares the built ones with their own files.
 */

export const MODES = ['chat', 'plan', 'review', 'orchestrate'] as const;
export type Mode = (typeof MODES)[number];

/** On every mode's list: memory and artifacts (14), code graph (5), run mechanics (4). */
export const ALWAYS_ALLOWED: readonly string[] = [
  'search_memory',
  'propose_fact',
  'propose_policy',
  'supersede_fact',
  'supersede_policy',
  'record_observation',
  'update_my_notes',
  'get_my_notes',
  'list_memory_domains',
  'list_policies',
  'publish_artifact',
  'revise_artifact',
  'list_artifacts',
  'get_artifact',
  'search_code',
  'code_symbol',
  'code_callers',
  'code_callees',
  'code_impact',
  'search_tool_bm25',
  'list_my_tools',
  'todo_write',
  'todo_read',
];

/** The classes that the preset of a read-only mode denies: all but `networkEgress` and `secretAccess`. */
export const READ_ONLY_DENIES: readonly ActionClass[] = [
  'fileDelete',
  'fileWriteOutsideWorktree',
  'gitCommit',
  'gitPush',
  'prCreate',
  'prPublish',
  'vendorSyncWrite',
  'packageInstall',
  'processSpawn',
  'workspaceMutation',
  'enclosureControl',
];

export interface ModeRules {
  /** Names beside `ALWAYS_ALLOWED`; null = every tool. */
  allow: readonly string[] | null;
  /** The verb that the mode must deliver and its exit verb: no gate behind the mode may refuse or prompt for them. */
  pinned: readonly string[];
  denied_classes: readonly ActionClass[];
  /** One sentence each, for the refusal: why, and what to do instead. */
  why: string;
  instead: string;
}

export const MODE_RULES: Readonly<Record<Mode, ModeRules>> = {
  chat: { allow: null, pinned: [], denied_classes: [], why: '', instead: '' },
  plan: {
    allow: [
      'send_message',
      'get_messages',
      'consult_agent',
      'list_repos',
      'list_agents',
      'list_skills',
      'update_ticket',
      'comment_on_ticket',
      'close_ticket',
      'fail_ticket',
      'list_tickets',
      'get_ticket',
      'list_ticket_relations',
      'submit_output',
      'submit_plan',
      'exit_plan_mode',
    ],
    pinned: ['submit_plan', 'exit_plan_mode'],
    denied_classes: READ_ONLY_DENIES,
    why: 'a plan is written before anything is changed',
    instead: 'finish the plan and call exit_plan_mode',
  },
  review: {
    allow: [
      'add_review_node',
      'confirm_review_node',
      'dismiss_review_node',
      'resolve_review_node',
      'request_peer_review',
      'send_message',
      'get_messages',
      'consult_agent',
      'list_repos',
      'list_agents',
      'list_skills',
      'create_ticket',
      'update_ticket',
      'assign_ticket',
      'reassign_ticket',
      'add_ticket_collaborator',
      'comment_on_ticket',
      'close_ticket',
      'fail_ticket',
      'delegate_ticket',
      'list_tickets',
      'get_ticket',
      'ticket_pr_link',
      'ticket_relation',
      'list_ticket_relations',
      'submit_output',
      'finalize_review',
      'publish_review_to_github',
      'start_ai_review',
      'submit_reviewer_verdict',
      'dispatch_reviewers',
      'set_cohort_summary',
      'add_review_diagram',
    ],
    pinned: [],
    denied_classes: READ_ONLY_DENIES,
    why: 'a review looks at work and does not change it',
    instead: 'finish the review and let the operator act',
  },
  orchestrate: {
    allow: [
      'propose_orchestration',
      'create_playbook',
      'run_playbook',
      'send_message',
      'get_messages',
      'consult_agent',
      'list_repos',
      'list_agents',
      'list_skills',
      'list_tickets',
      'get_ticket',
    ],
    pinned: ['propose_orchestration'],
    denied_classes: READ_ONLY_DENIES,
    why: 'hiring, splitting work and finishing tickets happen after approval, by the server',
    instead: 'call propose_orchestration once',
  },
};

/** In plan mode these are for the ticket alone that the caller's run was dispatched for, when the run names one. */
export const PLAN_OWN_TICKET: readonly string[] = ['update_ticket', 'comment_on_ticket', 'close_ticket', 'fail_ticket'];

/** Exactly the tools that ask before they run. */
export const REQUIRES_APPROVAL: readonly string[] = [
  'create_ticket',
  'update_ticket',
  'assign_ticket',
  'reassign_ticket',
  'close_ticket',
  'ticket_relation',
  'create_goal',
  'update_goal_progress',
  'create_approval',
  'decide_approval',
  'comment_approval',
  'create_work_product',
  'save_work_product_revision',
  'create_runtime_profile',
  'install_skill',
  'update_skill',
];

export const APPROVAL_MODES = ['always-ask', 'write', 'yolo'] as const;
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

export const AUTONOMY = ['proposeOnly', 'actWithApproval', 'actFreely'] as const;
export type Autonomy = (typeof AUTONOMY)[number];

/** Classes of the workspace registry's tools; one that is not named here declares none. */
export const REGISTRY_CLASSES: Readonly<Record<string, readonly ActionClass[]>> = {
  create_ticket: ['vendorSyncWrite'],
  update_ticket: ['vendorSyncWrite'],
  assign_ticket: ['vendorSyncWrite', 'processSpawn'],
  reassign_ticket: ['vendorSyncWrite', 'processSpawn'],
  comment_on_ticket: ['processSpawn'],
  close_ticket: ['vendorSyncWrite'],
  fail_ticket: ['vendorSyncWrite'],
  delegate_ticket: ['vendorSyncWrite'],
  ticket_relation: ['vendorSyncWrite'],
  propose_orchestration: ['vendorSyncWrite'],
  refresh_feeds: ['networkEgress'],
  computer_use: ['enclosureControl', 'networkEgress', 'processSpawn'],
  browser_use: ['enclosureControl', 'networkEgress', 'processSpawn'],
  mobile_use: ['enclosureControl', 'networkEgress', 'processSpawn', 'packageInstall'],
  ios_use: ['enclosureControl', 'networkEgress', 'processSpawn', 'packageInstall'],
  rig_close: ['enclosureControl'],
  send_to_agent: ['workspaceMutation', 'processSpawn'],
  ask_agent: ['workspaceMutation', 'processSpawn'],
  delegate_task: ['vendorSyncWrite'],
  consult_agent: ['processSpawn'],
  create_skill: ['fileWriteOutsideWorktree'],
  pin_skill: ['fileWriteOutsideWorktree'],
  install_skill: ['packageInstall', 'networkEgress'],
  update_skill: ['packageInstall', 'networkEgress'],
  run_playbook: ['vendorSyncWrite'],
  start_ai_review: ['processSpawn'],
  dispatch_reviewers: ['processSpawn'],
  publish_review_to_github: ['prPublish'],
};

/** Capability groups of the agent server in their canonical order, which is that of `tools/list`. */
export const GROUPS = [
  'cortex-core',
  'cortex-ext',
  'cortex-interaction-bridge',
  'cortex-workers',
  'cortex-worker-report',
  'cortex-slack',
  'cortex-feishu',
  'cortex-web',
] as const;

/** One row of the guard rail, as team keeps it. Exactly one of `action_class` and `command_prefix` is set. */
export interface GuardRule {
  id: string;
  workspace_id: string;
  scope_type: 'space' | 'agent' | 'workspace' | 'managed';
  scope_id: string;
  action_class?: ActionClass;
  command_prefix?: string;
  constraint?: GuardConstraint;
  decision: 'deny' | 'prompt' | 'allow';
  enforcement: 'advisory' | 'soft' | 'hard';
  origin: 'manual' | 'remembered' | 'managed';
  /** ISO 8601; after it the rule counts for nothing. */
  expires_at?: string;
  created_by: string;
}

/** A facet for which the call has no value makes the constraint not match. */
export interface GuardConstraint {
  tools?: string[];
  /** Globs; `!` in front takes out again. */
  paths?: string[];
  refs?: string[];
  /** `*.` in front takes every label below. */
  hosts?: string[];
  commands?: string[];
  max_count?: number;
  max_cents?: number;
}
