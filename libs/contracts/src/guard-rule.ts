import { z } from 'zod';
import { AUTONOMY } from './gating.js';
import { Id } from './ids.js';
import { ACTION_CLASSES, type ActionClass } from './tool.js';

const texts = z.array(z.string().min(1).max(1_000)).min(1).max(100).optional();

/** What a rule may say beside which class or command it is about. Source: workspace-tools-2, section 2.3. */
export const GuardConstraintFields = z
  .strictObject({
    tools: texts.describe('Names of tools'),
    paths: texts.describe('Globs; ! in front takes out again'),
    refs: texts.describe('Globs of git refs'),
    hosts: texts.describe('Host names; *. in front takes every label below'),
    commands: texts.describe('Beginnings of commands'),
    max_count: z.number().int().min(0).optional(),
    max_cents: z.number().int().min(0).optional(),
  })
  // An empty one would beat every unconstrained rule and yet say nothing.
  .refine((constraint) => Object.values(constraint).some((facet) => facet !== undefined), {
    error: 'names no facet; leave it out or name one',
  });

/** What rules of a workspace and managed rules have in common. */
export const guardRuleFields = {
  action_class: z.enum(ACTION_CLASSES as [ActionClass, ...ActionClass[]]).optional(),
  // A command is split there and loses its quotes before rules are tried on it: such a prefix could never fit.
  command_prefix: z
    .string()
    .trim()
    .max(1_000)
    .regex(/^[^;&|(){}`"'\\\r\n\0]+$/, 'must be the plain words that one command begins with')
    // The longest prefix decides, and blanks are not to make one longer.
    .overwrite((words) => words.replace(/\s+/g, ' '))
    .optional(),
  constraint: GuardConstraintFields.optional(),
  decision: z.enum(['deny', 'prompt', 'allow']),
  enforcement: z.enum(['advisory', 'soft', 'hard']).default('hard'),
  expires_at: z.iso.datetime({ offset: true }).optional(),
};

/** A rule is about a class or about commands, never both and never neither. */
export const hasOneSubject = (rule: { action_class?: unknown; command_prefix?: unknown }): boolean =>
  (rule.action_class === undefined) !== (rule.command_prefix === undefined);
export const ONE_SUBJECT = 'needs exactly one of action_class and command_prefix';

/** A rule as `cortex.cmd.team.set_guard_rule` takes it; managed rules come from `CORTEX_MANAGED_POLICY` alone. */
export const GuardRuleInput = z.strictObject({
  id: Id.optional().describe('Replaces the rule of this id; a new one is made without it'),
  scope_type: z.enum(['workspace', 'agent', 'space']).default('workspace'),
  scope_id: Id.optional().describe('Id of the agent or the space; of a workspace rule it is the workspace'),
  ...guardRuleFields,
});
export type GuardRuleInput = z.infer<typeof GuardRuleInput>;

export const AutonomyLevel = z.enum(AUTONOMY);
