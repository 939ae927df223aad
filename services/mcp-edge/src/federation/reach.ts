import type { CallerContext } from '../seams.js';
import type { Backend } from './types.js';

/** Whether a caller holds a scope of this backend at all: only then is its token shown there unasked, or anything asked in its name. */
export const holdsScopeOf = ({ scopePrefixes }: Backend, { scopes }: CallerContext): boolean =>
  [...scopes].some((scope) => scopePrefixes.some((prefix) => scope.startsWith(prefix)));

/** A session has no token of a person, and its own is for Cortex alone. */
export const wantsPerson = ({ tokenMode }: Backend, { session }: CallerContext): boolean =>
  session !== undefined && tokenMode !== 'none';
