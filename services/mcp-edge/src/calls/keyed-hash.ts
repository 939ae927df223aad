import { createHmac, hash } from 'node:crypto';

const BLOCK = 64;
const DIGEST = 32;
/** Longest text, in UTF-16 units, that is hashed in the kept buffer. */
const LONGEST = 64 * 1024;

/**
 * First 16 hex digits of HMAC-SHA-256 under one key, by two one-shot hashes over kept buffers: `createHmac` makes a native object per call,
 * and what the collector does with those costs more than the hash.
 */
export function keyedHash(key: string): (text: string) => string {
  const bytes = Buffer.from(key);
  const padded = Buffer.alloc(BLOCK);
  (bytes.length > BLOCK ? Buffer.from(hash('sha256', bytes, 'hex'), 'hex') : bytes).copy(padded);
  const inner = Buffer.alloc(BLOCK + LONGEST * 3);
  const outer = Buffer.alloc(BLOCK + DIGEST);
  for (let i = 0; i < BLOCK; i++) {
    inner[i] = (padded[i] ?? 0) ^ 0x36;
    outer[i] = (padded[i] ?? 0) ^ 0x5c;
  }
  return (text) => {
    if (text.length > LONGEST) return createHmac('sha256', bytes).update(text).digest('hex').slice(0, 16);
    const end = BLOCK + inner.write(text, BLOCK, 'utf8');
    outer.write(hash('sha256', inner.subarray(0, end), 'hex'), BLOCK, 'hex');
    return hash('sha256', outer, 'hex').slice(0, 16);
  };
}
