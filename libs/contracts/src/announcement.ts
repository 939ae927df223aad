import { gunzipSync, gzipSync } from 'node:zlib';
import { INLINE_LIMIT } from './subjects.js';
import type { ToolAnnouncement } from './tool.js';

/** What a list may have when it is unpacked: whoever may write one must not fill the memory of every edge. */
const UNPACKED_LIMIT = 64 * 1024 * 1024;
const GZIP = 0x1f;

/** The value of a service's key in `cortex_tools`: JSON, and above half a message compressed, which makes a tenth or less of it. */
export function packAnnouncement(announcement: ToolAnnouncement): Buffer {
  const text = Buffer.from(JSON.stringify(announcement));
  return text.length <= INLINE_LIMIT ? text : gzipSync(text);
}

/** What such a value holds, unchecked. Throws when it is neither JSON nor that compressed, or too large. */
export function unpackAnnouncement(value: Uint8Array): unknown {
  const text = value[0] === GZIP ? gunzipSync(value, { maxOutputLength: UNPACKED_LIMIT }) : Buffer.from(value);
  return JSON.parse(text.toString());
}
