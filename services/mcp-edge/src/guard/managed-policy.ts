import { readFileSync } from 'node:fs';
import { failedPrecondition, type GuardRule } from '@cortex/contracts';
import { guardRuleFields, hasOneSubject, ONE_SUBJECT } from '@cortex/contracts/guard-rule';
import { z } from 'zod';

const Rule = z
  .strictObject({ id: z.string().min(1), ...guardRuleFields })
  .refine(hasOneSubject, { error: ONE_SUBJECT });
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
