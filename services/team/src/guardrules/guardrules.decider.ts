import {
  type ApprovalMode,
  type Autonomy,
  type GuardRule,
  invalidArgument,
  resourceExhausted,
} from '@cortex/contracts';
import { hasOneSubject, ONE_SUBJECT } from '@cortex/contracts/guard-rule';
import type { GuardRulesEvent } from '@cortex/contracts/workspace';
import { defineDecider } from '@cortex/eventstore';
import { own } from '../own.js';

export type GuardRulesCommand =
  | { type: 'SetApprovalMode'; mode: ApprovalMode }
  | { type: 'SetGuardRule'; at: string; rule: GuardRule }
  | { type: 'RemoveGuardRule'; rule_id: string }
  | { type: 'SetAutonomy'; space_id: string | null; agent_id: string; level: Autonomy };

export interface GuardRulesState {
  /** Null until somebody sets one: then it counts as `always-ask`. */
  approval_mode: ApprovalMode | null;
  rules: Readonly<Record<string, GuardRule>>;
  /** By agent and, where the dial is of one space, that. */
  dials: Readonly<Record<string, { space_id: string | null; agent_id: string; level: Autonomy }>>;
}

/** Every edge holds all rules in memory and walks those of a workspace at each gated call. */
const MAX_RULES = 1_000;

const dialKey = (agent: string, space: string | null): string => (space === null ? agent : `${agent} ${space}`);

/** Guard rules, dials and approval mode of a workspace. Source: workspace-tools-2, sections 2.3 and 2.4. */
export const guardrules = defineDecider<GuardRulesCommand, GuardRulesEvent, GuardRulesState>({
  subject: 'team.guardrules',
  initial: { approval_mode: null, rules: {}, dials: {} },
  decide(command, state) {
    switch (command.type) {
      case 'SetApprovalMode': {
        const { mode } = command;
        return state.approval_mode === mode ? [] : [{ type: 'ApprovalModeSet', data: { mode } }];
      }
      case 'SetGuardRule': {
        const { rule, at } = command;
        assertRule(rule, at);
        const present = own(state.rules, rule.id);
        if (present !== undefined && sameRule(present, rule)) return [];
        if (present === undefined && Object.keys(state.rules).length >= MAX_RULES)
          throw resourceExhausted('rule', `is one more than the ${MAX_RULES} of a workspace`, 'remove one first');
        return [{ type: 'GuardRuleSet', data: { rule } }];
      }
      case 'RemoveGuardRule': {
        const { rule_id } = command;
        return own(state.rules, rule_id) === undefined ? [] : [{ type: 'GuardRuleRemoved', data: { rule_id } }];
      }
      case 'SetAutonomy': {
        const { space_id, agent_id, level } = command;
        // A space without a dial of its own goes by that of the workspace, so none of its levels is there before it is set.
        const unset = space_id === null ? 'actWithApproval' : undefined;
        const present = own(state.dials, dialKey(agent_id, space_id))?.level ?? unset;
        return present === level ? [] : [{ type: 'AutonomySet', data: { space_id, agent_id, level } }];
      }
    }
  },
  evolve(state, { type, data }) {
    switch (type) {
      case 'ApprovalModeSet':
        return { ...state, approval_mode: data.mode };
      case 'GuardRuleSet':
        return { ...state, rules: { ...state.rules, [data.rule.id]: data.rule } };
      case 'GuardRuleRemoved': {
        const { [data.rule_id]: _, ...rules } = state.rules;
        return { ...state, rules };
      }
      case 'AutonomySet':
        return { ...state, dials: { ...state.dials, [dialKey(data.agent_id, data.space_id)]: data } };
    }
  },
});

function assertRule(rule: GuardRule, at: string): void {
  if (!hasOneSubject(rule)) throw invalidArgument('rule', ONE_SUBJECT, 'give one of them');
  if (rule.scope_type === 'managed')
    throw invalidArgument('rule.scope_type', 'is of the installation', 'use the file of CORTEX_MANAGED_POLICY');
  if (rule.scope_type === 'workspace' && rule.scope_id !== rule.workspace_id)
    throw invalidArgument('rule.scope_id', 'names another workspace', 'leave it out');
  if (rule.expires_at !== undefined && Date.parse(rule.expires_at) <= Date.parse(at))
    throw invalidArgument('rule.expires_at', 'has passed', 'give a time to come');
}

/** Whoever sends a rule again means the same one; who said it first stays. */
const sameRule = (a: GuardRule, b: GuardRule): boolean => textOf(a) === textOf(b);

const textOf = (rule: GuardRule): string =>
  JSON.stringify({ ...rule, created_by: '' }, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
