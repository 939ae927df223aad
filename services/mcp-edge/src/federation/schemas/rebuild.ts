import { isObject } from '@cortex/contracts/is-object';
import type { SchemaDocument } from './document.js';
import type { Schema, SchemaObject } from './keywords.js';

export interface Builder {
  /** The new form of a schema below. */
  readonly make: (schema: Schema) => Schema;
  /** The value of a `$ref` to this schema in the new document; undefined for a boolean, which has no place of its own. */
  readonly referTo: (target: Schema) => string | undefined;
}
/** The new form of one schema without its definitions, which `rebuild` adds at the root. */
export type Shape = (schema: SchemaObject, builder: Builder) => Record<string, unknown>;

/**
 * Writes a document anew, schema by schema. Whatever a reference leads to becomes a definition at the root, under its name where it has one:
 * so a keyword that goes or moves takes no target with it.
 */
export function rebuild(
  document: SchemaDocument,
  definitions: '$defs' | 'definitions',
  shape: Shape,
): Record<string, unknown> {
  const names = new Map<SchemaObject, string>();
  const taken = new Set<string>();
  const booleans: [string, Schema][] = [];
  const name = (target: SchemaObject, wish: string): string => {
    let free = wish;
    for (let i = 2; taken.has(free); i++) free = `${wish}_${i}`;
    taken.add(free);
    names.set(target, free);
    return free;
  };
  for (const keyword of ['$defs', 'definitions']) {
    const declared = document.root[keyword];
    for (const [wish, schema] of isObject(declared) ? Object.entries(declared) : [])
      if (isObject(schema)) name(schema, wish);
      else if (!taken.has(wish) && typeof schema === 'boolean') {
        taken.add(wish);
        booleans.push([wish, schema]);
      }
  }
  const builder: Builder = {
    make: (schema) => (isObject(schema) ? shape(schema, builder) : schema),
    referTo(target) {
      if (!isObject(target)) return undefined;
      if (target === document.root) return '#';
      const known = names.get(target) ?? name(target, wishFor(document.placeOf(target).pointer));
      return `#/${definitions}/${encodeURIComponent(known.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
    },
  };
  const root = shape(document.root, builder);
  const built: [string, unknown][] = [...booleans];
  // Grows while it is walked: a definition may lead to one that had no name yet.
  for (const [schema, free] of names) built.push([free, shape(schema, builder)]);
  return built.length === 0 ? root : { ...root, [definitions]: Object.fromEntries(built) };
}

const wishFor = (pointer: string): string =>
  pointer.slice(pointer.lastIndexOf('/') + 1).replace(/[^\w.-]+/g, '_') || 'schema';
