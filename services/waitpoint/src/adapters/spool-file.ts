import { createHash } from 'node:crypto';
import type { RawSignal } from './signal-text.js';

/** Bytes of a spool file, here and on a device. */
export const MOST_BYTES = 64 * 1024;

export type SpooledSignal = RawSignal & { id: unknown; secret: unknown };

/** The signal in a file; null for what is no JSON object. */
export function readSignal(text: string): SpooledSignal | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const { id, secret, status, message, member, data } = value as SpooledSignal;
  return { id, secret, status, message, member, data };
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);
