import { sha256Hex } from '@cortex/contracts';

/**
 * What owns a protocol session, an idempotency key or a limit (architecture, section 9). JSON arrays, so that no value
 * can run into its neighbour: `["person", issuer, sub, client_id]` or `["agent", sid]`.
 */
export function callerKey(who: { issuer: string; sub: string; client_id: string; sid?: string }): string {
  return JSON.stringify(who.sid === undefined ? ['person', who.issuer, who.sub, who.client_id] : ['agent', who.sid]);
}

/** The caller key as it stands in buckets, requests and records: it names a person, so never in clear. */
export const callerHash = (key: string): string => sha256Hex(key);
