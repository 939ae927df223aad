import { CHECK_LIMITS, SchemaDocument } from './document.js';
import {
  ANNOTATIONS,
  type Dialect,
  isOld,
  REFERENCES,
  type Reference,
  type Schema,
  type SchemaObject,
} from './keywords.js';

/** A schema between two steps of a profile. */
export interface Draft {
  readonly schema: SchemaObject;
  readonly dialect: Dialect;
}
/** One step. Returns the same schema object where there is nothing to change. Throws Unprojectable. */
export type Step = (draft: Draft) => Draft;

/** A schema has no form in this profile: the message says why. */
export class Unprojectable extends Error {}

export const documentOf = ({ schema, dialect }: Draft): SchemaDocument =>
  new SchemaDocument(schema, dialect, CHECK_LIMITS);

/** The references of a schema that count in its dialect. */
export const referencesOf = (schema: SchemaObject, dialect: Dialect): [Reference, string][] =>
  REFERENCES.flatMap((keyword): [Reference, string][] => {
    const reference = schema[keyword];
    if (typeof reference !== 'string' || (isOld(dialect) && keyword !== '$ref')) return [];
    return [[keyword, reference]];
  });

/** What counts beside the references of a schema: in the old dialects nothing does but what only describes. */
export function besideReferences(schema: SchemaObject, dialect: Dialect): Record<string, unknown> {
  const alone = isOld(dialect) && '$ref' in schema;
  return Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => {
      if ((REFERENCES as readonly string[]).includes(keyword)) return false;
      // A mirrored parameter needs its type beside the annotation.
      return !alone || ANNOTATIONS.has(keyword) || (keyword === 'type' && 'x-mcp-header' in schema);
    }),
  );
}

/** Keywords that only make sense while there are references. */
export const IDENTIFIERS = ['$anchor', '$dynamicAnchor', '$recursiveAnchor', '$defs', 'definitions'] as const;

/** The one schema that a reference means wherever it is used from; undefined where that depends on the way to it. */
export function staticTarget(
  document: SchemaDocument,
  schema: SchemaObject,
  keyword: Reference,
  reference: string,
): Schema | undefined {
  const target = document.resolve(schema, reference);
  if (keyword === '$ref') return target;
  const resources = new Set([...document.places()].map(([, { resource }]) => resource));
  return resources.size === 1 ? target : undefined;
}
