import type { Delivered } from '../../calls/dispatch.js';
import type { DeclaredTool } from '../types.js';
import type { Validator, Verdict } from './validator.js';

export type ResultPolicy = 'off' | 'warn' | 'strict';

export interface ResultChecksOptions {
  readonly validator: Pick<Validator, 'check'>;
  readonly policy: ResultPolicy;
  /** A result that does not fit, and in which way. */
  readonly onMisfit: (why: string) => void;
}

/** What becomes of a result: its structured part as it is sent on, with a note where it does not fit; or it is no valid answer. */
export type Checked =
  { readonly structured: string | undefined; readonly mismatch?: string } | { readonly invalid: string };

/**
 * Holds a result to the output schema of its tool, in its original form. What does not fit is passed on with a note, because many declare
 * carelessly (failure case P37); an error loses a structured part that does not fit, since clients check it and would hide its text (P38).
 * Source: gateway, section 13.8.
 */
export async function checkResult(
  tool: Pick<DeclaredTool, 'schemaTexts'>,
  { is_error, structured }: Pick<Delivered, 'is_error' | 'structured'>,
  { validator, policy, onMisfit }: ResultChecksOptions,
): Promise<Checked> {
  const schema = tool.schemaTexts.output;
  if (schema === undefined || policy === 'off') return { structured };
  if (structured === undefined) {
    if (is_error) return { structured };
    return misfit('structuredContent is missing');
  }
  const verdict = await validator.check(schema, structured);
  if (verdict.kind === 'fits') return { structured };
  const why = wordsOf(verdict, 'structuredContent');
  // Whether it fits is not known: no word about the backend, but an error must not take the risk.
  if (is_error) return { structured: undefined };
  return verdict.kind === 'unchecked' && policy === 'warn' ? { structured } : misfit(why);

  function misfit(reason: string): Checked {
    onMisfit(reason);
    return policy === 'strict' ? { invalid: reason } : { structured, mismatch: reason };
  }
}

/** `structuredContent/a must be string (#/properties/a/type); …` */
export function wordsOf(verdict: Exclude<Verdict, { kind: 'fits' }>, what: string): string {
  if (verdict.kind === 'unchecked') return `${what} could not be checked: ${verdict.why}`;
  return verdict.faults.map(({ at, problem, rule }) => `${what}${at} ${problem} (${rule})`).join('; ');
}
