import { SchemaFault } from './document.js';
import { readJson } from './json-values.js';
import { dialectOf, type SchemaObject, without } from './keywords.js';
import { stepsOf } from './profiles.js';
import { type Draft, Unprojectable } from './step.js';

/** A schema in a profile, as compact JSON; `text` is the given one where nothing changed. Or why it has no such form. */
export type Projection = { readonly text: string; readonly changed: boolean } | { readonly omitted: string };

/** The form of one schema in a profile (spelled as `profileOf` does). `text` has passed `checkSchema`. */
export function project(text: string, profile: string, kind: 'input' | 'output'): Projection {
  const schema = readJson(text) as SchemaObject;
  const dialect = dialectOf(schema);
  if (dialect === undefined) return { omitted: 'its dialect is not known' };
  let draft: Draft = { schema, dialect };
  try {
    for (const step of stepsOf(profile, kind)) draft = step(draft);
  } catch (error) {
    // A step's result may be larger than what a document may be.
    if (error instanceof Unprojectable) return { omitted: error.message };
    if (error instanceof SchemaFault) return { omitted: error.detail };
    // No schema costs the list, not even one that overflows whoever reads it.
    if (error instanceof RangeError) return { omitted: 'it is too deep to be read' };
    throw error;
  }
  if (draft.schema === schema) return { text, changed: false };
  // The protocol reads it whatever the dialect says, also beside a `$ref` of draft-07 where it counts for nothing.
  const typed = schema['type'] === 'object' && draft.schema['type'] !== 'object';
  const made = JSON.stringify(typed ? { type: 'object', ...without(draft.schema, 'type') } : draft.schema);
  return made === text ? { text, changed: false } : { text: made, changed: true };
}
