import { charCount } from '@cortex/contracts/text';
import { z } from 'zod';

export interface TextBounds {
  /** Most Unicode characters; an emoji is one. */
  max: number;
  /** False refuses a text that shows nothing: empty, white space, invisible characters alone. Default true. */
  blank?: boolean;
}

/** U+2800 is the empty pattern of Braille. */
const SHOWS_NOTHING = /^[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\u2800]*$/u;

/**
 * An argument that is text: NFC on the way in, without NUL (which PostgreSQL cannot hold) and without halves of characters.
 * Its JSON Schema names no bound, say it in `describe`: a schema's validators count UTF-16 units, and would refuse emoji.
 * Errors: `invalid_argument`, for too long a text with reason `too_large` and `details.limit`, `details.actual`.
 */
export const text = ({ max, blank = true }: TextBounds) =>
  z.string().transform((given, ctx) => {
    const clean = cleanText(given);
    const refuse = (message: string, params?: Record<string, unknown>): never => {
      ctx.addIssue({ code: 'custom', message, input: given, ...(params && { params }) });
      return z.NEVER;
    };
    if (clean === null) return refuse('holds a NUL character; remove it');
    if (!blank && SHOWS_NOTHING.test(clean)) return refuse('is blank; give some text');
    const actual = charCount(clean);
    if (actual <= max) return clean;
    return refuse(`has more than ${max} characters; shorten it`, {
      reason: 'too_large',
      details: { limit: max, actual },
    });
  });

/** The text in NFC, halves of surrogate pairs replaced; null where it holds NUL. */
export const cleanText = (given: string): string | null =>
  given.includes('\0') ? null : given.toWellFormed().normalize('NFC');

/**
 * An argument that is an object of any shape and kept as it is, its texts treated like `text`. `maxBytes`: of its JSON.
 * Errors: as of `text`.
 */
export const document = ({ maxBytes }: { maxBytes: number }) =>
  z.record(z.string(), z.unknown()).transform((given, ctx): Record<string, unknown> => {
    const refuse = (message: string, params?: Record<string, unknown>): never => {
      ctx.addIssue({ code: 'custom', message, input: given, ...(params && { params }) });
      return z.NEVER;
    };
    const actual = Buffer.byteLength(JSON.stringify(given));
    if (actual > maxBytes) {
      const params = { reason: 'too_large', details: { limit: maxBytes, actual } };
      return refuse(`has more than ${maxBytes} bytes of JSON; shorten it`, params);
    }
    const clean = cleanValue(given);
    return clean === null ? refuse('holds a NUL character; remove it') : (clean.value as Record<string, unknown>);
  });

function cleanValue(value: unknown): { value: unknown } | null {
  if (typeof value === 'string') {
    const clean = cleanText(value);
    return clean === null ? null : { value: clean };
  }
  if (typeof value !== 'object' || value === null) return { value };
  const entries = Object.entries(value).map(([name, inner]) => [cleanText(name), cleanValue(inner)] as const);
  if (entries.some(([name, inner]) => name === null || inner === null)) return null;
  const clean = entries.map(([name, inner]) => [name, inner?.value] as const);
  return { value: Array.isArray(value) ? clean.map(([, inner]) => inner) : Object.fromEntries(clean) };
}
