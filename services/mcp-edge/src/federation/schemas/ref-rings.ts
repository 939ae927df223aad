import { isObject } from '@cortex/contracts/is-object';
import { SchemaDocument, SchemaFault } from './document.js';
import { isOld, isSchema, REFERENCES, type Schema, type SchemaObject } from './keywords.js';

/**
 * Resolves every reference of a document, those in what only references reach included, and returns where they lead. Throws the SchemaFault
 * of the first bad one.
 */
export function checkReferences(document: SchemaDocument): ReadonlySet<SchemaObject> {
  const reached = new Set<SchemaObject>();
  const ahead = new Map<SchemaObject, Schema[]>();
  // Grows while it is walked: resolving may discover a schema in a place where none is expected.
  for (const [schema, { pointer }] of document.places()) {
    const targets: Schema[] = [];
    for (const keyword of REFERENCES) {
      const reference = schema[keyword];
      if (reference === undefined || (isOld(document.dialect) && keyword !== '$ref')) continue;
      if (typeof reference !== 'string') throw new SchemaFault('invalid_schema', pointer, `${keyword} is no text`);
      const target = document.resolve(schema, reference);
      if (isObject(target)) reached.add(target);
      targets.push(target);
    }
    const { allOf } = schema;
    const alone = isOld(document.dialect) && '$ref' in schema;
    if (!alone && Array.isArray(allOf)) targets.push(...allOf.filter(isSchema));
    ahead.set(schema, targets);
  }
  const done = new Set<SchemaObject>();
  for (const schema of ahead.keys()) checkRing(document, schema, ahead, new Set(), done);
  return reached;
}

/**
 * A schema that leads to itself by references and `allOf` alone says nothing about any value and never ends: whoever checks a value by it
 * overflows. `done` = those from which every way is known to end.
 */
function checkRing(
  document: SchemaDocument,
  schema: SchemaObject,
  ahead: ReadonlyMap<SchemaObject, readonly Schema[]>,
  way: Set<SchemaObject>,
  done: Set<SchemaObject>,
): void {
  if (done.has(schema)) return;
  if (way.has(schema))
    throw new SchemaFault(
      'reference_ring',
      document.placeOf(schema).pointer,
      'its references lead back to itself and never to a schema',
    );
  way.add(schema);
  for (const next of ahead.get(schema) ?? []) if (isObject(next)) checkRing(document, next, ahead, way, done);
  way.delete(schema);
  done.add(schema);
}
