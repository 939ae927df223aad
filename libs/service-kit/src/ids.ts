import { createHash, randomUUID } from 'node:crypto';
import { sha256Hex, type BusRequest } from '@cortex/contracts';

/** Where the ids of one call come from. */
export interface CallIds {
  /** For the next commit. */
  commit(): string;
  /** For the next new thing. */
  next(prefix?: string): string;
  /**
   * Key under which the next question to another service is asked, so that its commits are found again too. Also without a
   * key of the call: both services know the call by one id, and ids made of that alone would be the same in both.
   */
  ask(): string;
}

/**
 * Ids that a repeat of the same call finds again: of a keyed call they are made of caller, workspace, name, key and a number,
 * else of the call's own id. Commits and questions of a resumed try are the exception: it does something new at the same place.
 */
export function idsOf(request: BusRequest, name: string): CallIds {
  const key = request.idempotency_key;
  const seed =
    key === undefined ? [request.call_id] : [request.caller ?? request.principal.id, request.workspace_id, name, key];
  const digest = (n: number | string) => sha256Hex(JSON.stringify([...seed, n]));
  let commits = 0;
  let things = 0;
  let asked = 0;
  return {
    commit: () => (request.resume === true ? randomUUID() : digest(commits++)),
    next: (prefix) => {
      const id = uuidOf(JSON.stringify([...seed, `id ${things++}`]), key === undefined ? request.call_id : '');
      return prefix === undefined ? id : `${prefix}_${id}`;
    },
    ask: () => (request.resume === true ? randomUUID() : digest(`ask ${asked++}`)),
  };
}

const V7_TIME = /^([0-9a-f]{8})-([0-9a-f]{4})-7/;

/** A UUID that is made of a text: version 7 with the time of the call where its id tells one, else version 8. */
export function uuidOf(text: string, call = ''): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  const time = V7_TIME.exec(call);
  if (time) bytes.write(time[1]! + time[2]!, 0, 6, 'hex');
  bytes[6] = (bytes[6]! & 0x0f) | (time ? 0x70 : 0x80);
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
