import { DEVICE_JSON_DEPTH } from '@cortex/contracts/device-wire';

/**
 * A frame of a device as an object, or null when it is none or nests deeper than allowed. The depth is counted before
 * anything is built of it.
 */
export function parseFrame(bytes: Buffer): Record<string, unknown> | null {
  if (!isShallow(bytes)) return null;
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** Id of the command that a frame which was not accepted answers; looked for in its beginning only. */
export function commandIdIn(bytes: Buffer): string | null {
  return /"(?:commandId|id)"\s*:\s*"([0-9a-f]{16})"/.exec(bytes.toString('latin1', 0, 1024))?.[1] ?? null;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

function isShallow(bytes: Buffer): boolean {
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE) {
      i = endOfString(bytes, i);
      if (i === -1) return true; // no JSON; the parser will say so
    } else if (OPEN.has(byte)) {
      if (++depth > DEVICE_JSON_DEPTH) return false;
    } else if (CLOSE.has(byte)) {
      depth--;
    }
  }
  return true;
}

/** Most of a large frame is one long string, so its end is looked for by the buffer's own search. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(QUOTE, start + 1); end !== -1; end = bytes.indexOf(QUOTE, end + 1)) {
    let escapes = 0;
    while (bytes[end - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return -1;
}
