import { readFileSync } from 'node:fs';
import { ACTION_CLASSES, failedPrecondition, type GuardRule } from '@cortex/contracts';
import { z } from 'zod';

const texts = z.array(z.string().min(1)).optional();
const Rule = z
  .strictObject({
    id: z.string().min(1),
    action_class: z.enum(ACTION_CLASSES as [(typeof ACTION_CLASSES)[number]]).optional(),
    command_prefix: z.string().min(1).optional(),
    constraint: z
      .strictObject({
        tools: texts,
        paths: texts,
        refs: texts,
        hosts: texts,
        commands: texts,
        max_count: z.number().optional(),
        max_cents: z.number().optional(),
      })
      .optional(),
    decision: z.enum(['deny', 'prompt', 'allow']),
    enforcement: z.enum(['advisory', 'soft', 'hard']).default('hard'),
    expires_at: z.iso.datetime().optional(),
  })
  .refine((rule) => (rule.action_class === undefined) !== (rule.command_prefix === undefined), {
    error: 'needs exactly one of action_class and command_prefix',
  });
const Policy = z.strictObject({ rules: z.array(Rule) });

/** The install-wide rules of `CORTEX_MANAGED_POLICY`; a file that is not understood whole stops the start: half a policy is none. */
export function managedPolicy(file: string | undefined): readonly GuardRule[] {
  if (file === undefined) return [];
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw failedPrecondition('CORTEX_MANAGED_POLICY', `${file} cannot be read as JSON`, 'mend the file', { cause });
  }
  const parsed = Policy.safeParse(value);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ');
    throw failedPrecondition('CORTEX_MANAGED_POLICY', `${file} holds what is no rule (${faults})`, 'mend the file');
  }
  return parsed.data.rules.map((rule) => ({
    ...rule,
    workspace_id: '*',
    scope_type: 'managed',
    scope_id: '*',
    origin: 'managed',
    created_by: 'CORTEX_MANAGED_POLICY',
  }));
}
