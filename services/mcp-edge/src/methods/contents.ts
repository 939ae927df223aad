import { isObject } from '@cortex/contracts/is-object';
import { ownScheme } from '../federation/declarations.js';
import type { Backend } from '../federation/types.js';
import type { Json } from './types.js';

/**
 * The contents of a resource: those in schemes of their backend, told as this caller may be told them. A sentence says why a value is no
 * result of `resources/read`. Source: gateway, sections 13.3 and 14.2.
 */
export function contentsOf(backend: Backend, value: unknown, told: (text: string) => string): Json[] | string {
  if (!isObject(value) || !Array.isArray(value['contents'])) return 'its resource has no contents';
  const contents: Json[] = [];
  for (const part of value['contents'] as unknown[]) {
    if (!isObject(part) || typeof part['uri'] !== 'string') return 'the contents of its resource have no URI';
    const { text, blob } = part;
    if (typeof text !== 'string' && typeof blob !== 'string') return 'the contents of its resource are empty';
    if (!ownScheme(backend, part['uri'])) continue;
    contents.push(typeof text === 'string' ? { ...part, text: told(text) } : part);
  }
  return contents;
}

/** How long a client may keep what it read, in milliseconds. */
export const ttlOf = (value: unknown): number => {
  const ttl = isObject(value) ? value['ttlMs'] : undefined;
  return Number.isSafeInteger(ttl) && (ttl as number) >= 0 ? (ttl as number) : 0;
};
