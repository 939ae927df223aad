import { CortexError } from '@cortex/contracts';
import { compositionRefusal } from '../../catalog/visibility.js';
import type { CallContext, Refusal } from '../call-context.js';
import { denied } from '../refusals.js';

/** Session composition and allow-list, of the verified claims. */
export function compositionGate(ctx: CallContext): Refusal | undefined {
  if (ctx.tool === undefined) return undefined;
  const refusal = compositionRefusal(ctx.tool, ctx.input.caller);
  if (refusal === undefined) return undefined;
  const { kind, reason, problem, fix } = refusal;
  return denied(new CortexError(kind, undefined, problem, fix, { reason }));
}
