import { randomBytes } from 'node:crypto';

const POOL = 512;
let pool = '';
let used = 0;

/** 16 random hex digits out of a pool: one system call for five hundred of them. */
export function randomHex16(): string {
  if (used + 16 > pool.length) {
    pool = randomBytes(8 * POOL).toString('hex');
    used = 0;
  }
  return pool.slice(used, (used += 16));
}

let millisecond = 0;
let stamp = '';
let iso = '';

/** Many calls share a millisecond, so its two spellings are kept. */
function tick(now: number): void {
  if (now === millisecond) return;
  millisecond = now;
  const hex = now.toString(16).padStart(12, '0');
  stamp = `${hex.slice(0, 8)}-${hex.slice(8)}`;
  iso = new Date(now).toISOString();
}

/** ISO 8601 with milliseconds. */
export function isoNow(): string {
  tick(Date.now());
  return iso;
}

/** A version 7 UUID: sorts by time, which the record's readers and the ids made from it rely on. */
export function callId(): string {
  tick(Date.now());
  const random = randomHex16() + randomHex16();
  const variant = '89ab'[Number.parseInt(random.charAt(3), 16) & 3];
  return `${stamp}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`;
}
