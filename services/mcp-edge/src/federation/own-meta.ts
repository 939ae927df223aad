import { membersOf } from './json-text.js';

/** Keys of `_meta` that say something of Cortex: nobody outside may set one. */
const OWN = /^cortex\//i;

/** The compact text of a `_meta` object without our keys; undefined when nothing is left. */
export function withoutOwnKeys(meta: string): string | undefined {
  const members = [...membersOf(meta)];
  const left = members.filter(([key]) => !OWN.test(key));
  if (left.length === 0) return undefined;
  return left.length === members.length
    ? meta
    : `{${left.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`;
}

/**
 * The same of a value: our keys are taken out of every `_meta` of a result and of its parts, in place. What a tool returns as data stays as it
 * is. Throws a RangeError where it is nested too deeply.
 */
export function stripOwnMeta(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_DEPTH) throw new RangeError('too deep');
  if (Array.isArray(value)) {
    for (const item of value) stripOwnMeta(item, depth + 1);
    return;
  }
  for (const [key, child] of Object.entries(value as Record<string, unknown>)) {
    if (key === '_meta' && typeof child === 'object' && child !== null)
      for (const own of Object.keys(child)) if (OWN.test(own)) Reflect.deleteProperty(child, own);
    if (key !== 'structuredContent') stripOwnMeta(child, depth + 1);
  }
}
const MAX_DEPTH = 128;
