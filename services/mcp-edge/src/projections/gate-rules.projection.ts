import type { GuardRulesEvent } from '@cortex/contracts/workspace';
import { defineProjection } from '@cortex/eventstore';
import type { EdgeDb } from './tables.js';

/** What the guard rail and the approval gate decide by: rules, dials and approval mode of every workspace. */
export const gateRules = defineProjection<GuardRulesEvent, EdgeDb>({
  name: 'gate_rules_v1',
  subject: 'cortex.evt.team.*.guardrules.*',
  tables: ['approval_modes', 'guard_rules', 'autonomy'],
  on: {
    ApprovalModeSet: ({ workspace, seq, data: { mode } }, tx) =>
      tx
        .insertInto('approval_modes')
        .values({ workspace, mode, seq })
        .onConflict((oc) => oc.column('workspace').doUpdateSet({ mode, seq }))
        .execute(),
    GuardRuleSet: ({ workspace, seq, data }, tx) => {
      const rule = JSON.stringify(data.rule);
      return tx
        .insertInto('guard_rules')
        .values({ workspace, rule_id: data.rule.id, rule, seq })
        .onConflict((oc) => oc.columns(['workspace', 'rule_id']).doUpdateSet({ rule, seq }))
        .execute();
    },
    GuardRuleRemoved: ({ workspace, seq, data: { rule_id } }, tx) =>
      tx
        .updateTable('guard_rules')
        .where('workspace', '=', workspace)
        .where('rule_id', '=', rule_id)
        .set({ rule: null, seq })
        .execute(),
    AutonomySet: ({ workspace, seq, data: { agent_id, space_id, level } }, tx) =>
      tx
        .insertInto('autonomy')
        .values({ workspace, agent_id, space_id: space_id ?? '', level, seq })
        .onConflict((oc) => oc.columns(['workspace', 'agent_id', 'space_id']).doUpdateSet({ level, seq }))
        .execute(),
  },
});
