import { isObject } from '@cortex/contracts/is-object';
import { SchemaDocument, CHECK_LIMITS } from './document.js';
import { readJson } from './json-values.js';
import { dialectOf, mapKeyword, type Schema, type SchemaObject, without } from './keywords.js';

const MOVED = '#/properties/result';

/** Whether results of a tool are wrapped for revisions in which they must be objects. The original decides, in every profile. */
export const isWrapped = (output: SchemaObject): boolean => output['type'] !== 'object';

/** An output schema as the property `result` of an object, its pointers moved. Source: gateway, section 13.8. */
export function wrapOutput(text: string): string {
  const schema = readJson(text) as SchemaObject;
  const dialect = dialectOf(schema);
  if (dialect === undefined) return text;
  const document = new SchemaDocument(schema, dialect, CHECK_LIMITS);
  const main = document.placeOf(schema).resource;
  /** Below an `$id` pointers begin there, and move with it. */
  const isMoved = typeof schema['$id'] !== 'string' || schema['$id'].startsWith('#');

  const moved = (inner: Schema): Schema => {
    if (!isObject(inner)) return inner;
    const made = Object.fromEntries(
      Object.entries(inner).map(([keyword, value]) => [keyword, mapKeyword(keyword, value, moved)]),
    );
    if (!isMoved || document.placeOf(inner).resource !== main) return made;
    for (const keyword of ['$ref', '$dynamicRef'])
      if (typeof made[keyword] === 'string') made[keyword] = movedReference(made[keyword]);
    // May only say `#`, which is the wrapper now.
    const { $recursiveRef, ...rest } = made;
    return $recursiveRef === undefined ? made : { ...rest, $ref: MOVED };
  };

  const { $schema } = schema;
  const result = without(moved(schema) as SchemaObject, '$schema');
  const wrapper = {
    ...($schema !== undefined && { $schema }),
    type: 'object',
    properties: { result },
    required: ['result'],
  };
  return JSON.stringify(wrapper);
}

const movedReference = (reference: string): string =>
  reference === '#' || reference === '' ? MOVED : reference.startsWith('#/') ? MOVED + reference.slice(1) : reference;
