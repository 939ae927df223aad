import { describe, expect, it } from '@jest/globals';
import type { GuardRule } from '@cortex/contracts';
import type { GuardRulesEvent } from '@cortex/contracts/workspace';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { guardrules, type GuardRulesCommand } from './guardrules.decider.js';

const given = specFor(guardrules);
const AT = '2026-01-05T10:00:00.000Z';
const rule = (fields: Partial<GuardRule> = {}): GuardRule => ({
  id: 'r1',
  workspace_id: 'w1',
  scope_type: 'workspace',
  scope_id: 'w1',
  action_class: 'vendorSyncWrite',
  decision: 'allow',
  enforcement: 'hard',
  origin: 'manual',
  created_by: 'cli',
  ...fields,
});
const setRule = (fields: Partial<GuardRule> = {}): GuardRulesCommand => ({
  type: 'SetGuardRule',
  at: AT,
  rule: rule(fields),
});
const ruleSet = (fields: Partial<GuardRule> = {}): GuardRulesEvent => ({
  type: 'GuardRuleSet',
  data: { rule: rule(fields) },
});

describe('a rule', () => {
  it('is set, replaced by its id, and removed', () => {
    given().when(setRule()).then(ruleSet());
    given(ruleSet())
      .when(setRule({ decision: 'deny' }))
      .then(ruleSet({ decision: 'deny' }));
    given(ruleSet())
      .when({ type: 'RemoveGuardRule', rule_id: 'r1' })
      .then({ type: 'GuardRuleRemoved', data: { rule_id: 'r1' } });
  });
  it('that stands already is not recorded again, whoever sends it and in whatever order its fields stand', () => {
    const constraint = { tools: ['t'], hosts: ['*.x'] };
    given(ruleSet({ constraint }))
      .when(setRule({ constraint: { hosts: ['*.x'], tools: ['t'] }, created_by: 'per_2' }))
      .thenNothing();
  });
  it('whose id every object has is one like any other', () => {
    for (const id of ['constructor', '__proto__']) {
      given().when({ type: 'RemoveGuardRule', rule_id: id }).thenNothing();
      given().when(setRule({ id })).then(ruleSet({ id }));
      given(ruleSet({ id })).when(setRule({ id })).thenNothing();
      given().when({ type: 'SetAutonomy', agent_id: id, space_id: null, level: 'actWithApproval' }).thenNothing();
    }
  });
  it('that is not there may be removed again', () =>
    given().when({ type: 'RemoveGuardRule', rule_id: 'r1' }).thenNothing());
  it('is about a class or about commands, and not about both or neither', () => {
    const { action_class: _, ...neither } = rule();
    given().when({ type: 'SetGuardRule', at: AT, rule: neither }).thenRejects('invalid_argument', 'rule');
    given()
      .when(setRule({ command_prefix: 'git push' }))
      .thenRejects('invalid_argument', 'rule');
  });
  it('must not have lapsed when it is set', () => {
    given()
      .when(setRule({ expires_at: AT }))
      .thenRejects('invalid_argument', 'rule.expires_at');
    given()
      .when(setRule({ expires_at: '2026-01-05T10:00:00.001Z' }))
      .then(ruleSet({ expires_at: '2026-01-05T10:00:00.001Z' }));
    // The same instant, said in another zone.
    given()
      .when(setRule({ expires_at: '2026-01-05T11:00:00.000+01:00' }))
      .thenRejects('invalid_argument', 'rule.expires_at');
  });
  it('never speaks for another workspace or for the installation', () => {
    given()
      .when(setRule({ scope_id: 'w2' }))
      .thenRejects('invalid_argument', 'rule.scope_id');
    given()
      .when(setRule({ scope_type: 'managed', scope_id: '*' }))
      .thenRejects('invalid_argument', 'rule.scope_type');
  });
  it('is one of a thousand at most; one that is there may still be replaced', () => {
    const full = Array.from({ length: 1_000 }, (_, i) => ruleSet({ id: `r${i}` }));
    given(...full)
      .when(setRule({ id: 'one-more' }))
      .thenRejects('resource_exhausted', 'rule');
    given(...full)
      .when(setRule({ id: 'r7', decision: 'deny' }))
      .then(ruleSet({ id: 'r7', decision: 'deny' }));
  });
});

it('the approval mode is recorded when it changes, and when it is first said', () => {
  const mode: GuardRulesEvent = { type: 'ApprovalModeSet', data: { mode: 'always-ask' } };
  given().when({ type: 'SetApprovalMode', mode: 'always-ask' }).then(mode);
  given(mode).when({ type: 'SetApprovalMode', mode: 'always-ask' }).thenNothing();
});

it('a dial is of an agent in the workspace or in one space, and begins at actWithApproval', () => {
  const everywhere = { agent_id: 'coder', space_id: null };
  const turned: GuardRulesEvent = { type: 'AutonomySet', data: { ...everywhere, level: 'actFreely' } };
  given()
    .when({ type: 'SetAutonomy', ...everywhere, level: 'actWithApproval' })
    .thenNothing();
  given()
    .when({ type: 'SetAutonomy', ...everywhere, level: 'actFreely' })
    .then(turned);
  given(turned)
    .when({ type: 'SetAutonomy', ...everywhere, level: 'actFreely' })
    .thenNothing();
  given(turned)
    .when({ type: 'SetAutonomy', agent_id: 'coder', space_id: 's1', level: 'actFreely' })
    .then({ type: 'AutonomySet', data: { agent_id: 'coder', space_id: 's1', level: 'actFreely' } });
});

it('a dial of a space is recorded at whatever level: until then the one of the workspace holds there', () => {
  const everywhere: GuardRulesEvent = {
    type: 'AutonomySet',
    data: { agent_id: 'coder', space_id: null, level: 'actFreely' },
  };
  const held = { agent_id: 'coder', space_id: 's1', level: 'actWithApproval' } as const;
  given(everywhere)
    .when({ type: 'SetAutonomy', ...held })
    .then({ type: 'AutonomySet', data: held });
  given(everywhere, { type: 'AutonomySet', data: held })
    .when({ type: 'SetAutonomy', ...held })
    .thenNothing();
});

it('stored commits fold for ever', () =>
  expect(foldHistories(guardrules, new URL('history/', import.meta.url))).toMatchObject({
    '0001-first.json': {
      approval_mode: 'write',
      rules: { r2: { command_prefix: 'git push', decision: 'deny' } },
      dials: { 'coder s1': { level: 'proposeOnly' } },
    },
  }));
