import type { CallerContext } from '../seams.js';

const bearers = new WeakMap<CallerContext, string>();

/**
 * The token that a caller came with, for backends of the same resource that are given it. It hangs on no object that could be logged, sent or
 * stored, and goes with its caller.
 */
export const bearerOf = (caller: CallerContext): string | undefined => bearers.get(caller);

/** Called once per verified token of a person. A session's token is never kept: it is no credential of the person behind it. */
export function withBearer(caller: CallerContext, token: string): CallerContext {
  bearers.set(caller, token);
  return caller;
}
