import { isObject } from '@cortex/contracts/is-object';
import { isOld, type Schema, type SchemaObject } from './keywords.js';
import { rebuild, type Shape } from './rebuild.js';
import { besideReferences, documentOf, referencesOf, staticTarget, type Step } from './step.js';

/** Copied as they are; the other kept keywords hold schemas or have to be looked at. */
const PLAIN = new Set([
  'const',
  'default',
  'description',
  'enum',
  'format',
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'pattern',
  'required',
  'title',
  'x-mcp-header',
]);

type Made = Record<string, unknown>;
type Make = (schema: Schema) => Schema;

/**
 * Keeps the few keywords that every client understands. A keyword that goes takes no value away that was allowed: where another one leaned on
 * it, that one is loosened too; and what can be said without it (`allOf`, `oneOf`) is.
 */
export const strip: Step = (draft) => {
  const document = documentOf(draft);
  const { dialect } = draft;

  const shape: Shape = (schema, { make, referTo }) => {
    const beside = besideReferences(schema, dialect);
    const made: Made = {};
    for (const [keyword, value] of Object.entries(beside)) {
      if (PLAIN.has(keyword)) made[keyword] = value;
      else if (keyword === 'properties') made['properties'] = mapped(value, make);
    }
    for (const [keyword, reference] of referencesOf(schema, dialect)) {
      const target = staticTarget(document, schema, keyword, reference);
      const $ref = target === undefined ? undefined : referTo(target);
      if ($ref !== undefined) made['$ref'] ??= $ref;
    }
    Object.assign(made, alternativesOf(beside, make), itemsOf(beside, isOld(dialect), make), othersOf(beside, make));
    // In the order of the original, so that nothing moves which did not change.
    const order = [...Object.keys(schema), ...Object.keys(made)];
    const kept = Object.fromEntries(
      [...new Set(order)].filter((keyword) => keyword in made).map((keyword) => [keyword, made[keyword]]),
    );
    for (const part of listOf(beside['allOf'])) fold(kept, make(part));
    return kept;
  };

  return { schema: rebuild(document, '$defs', shape), dialect: '2020-12' };
};

/** `type` and `anyOf`, the only form in which a choice is left. */
function alternativesOf({ type, anyOf, oneOf }: SchemaObject, make: Make): Made {
  const branches = listOf(anyOf ?? oneOf);
  const types = Array.isArray(type) ? (type as unknown[]) : type === undefined ? [] : [type];
  const choice = branches.length > 0 ? { anyOf: branches.map(make) } : {};
  if (types.length === 1) return { type: types[0], ...choice };
  if (types.length === 0 || branches.length > 0) return choice;
  return { anyOf: types.map((one) => ({ type: one })) };
}

/** One schema for all items, also of a tuple: each of its places may hold what any of them may. */
function itemsOf(schema: SchemaObject, old: boolean, make: Make): Made {
  const { items } = schema;
  const prefix = old || Array.isArray(items) ? items : schema['prefixItems'];
  if (!Array.isArray(prefix)) return items === undefined ? {} : { items: make(items as Schema) };
  const rest = Array.isArray(items) ? schema['additionalItems'] : items;
  return either('items', listOf(prefix), rest, make);
}

/** One schema for all further properties, those included that a pattern speaks of. */
function othersOf(schema: SchemaObject, make: Make): Made {
  const { additionalProperties: rest, patternProperties: patterns } = schema;
  const named = isObject(patterns) ? (Object.values(patterns) as Schema[]) : [];
  return named.length === 0
    ? rest === undefined
      ? {}
      : { additionalProperties: make(rest as Schema) }
    : either('additionalProperties', named, rest, make);
}

/** What fits one of the named schemas or the rest; nothing to say where the rest may be anything. */
function either(keyword: string, named: readonly Schema[], rest: unknown, make: Make): Made {
  if (rest === undefined || rest === true) return {};
  const all = [...named, ...(rest === false ? [] : [rest as Schema])].map(make);
  return { [keyword]: all.length === 1 ? all[0] : { anyOf: all } };
}

/** Adds what a part of an `allOf` demands, as far as the schema itself says nothing about it: both hold, so either may be left out. */
function fold(made: Made, part: Schema): void {
  if (!isObject(part)) return;
  for (const [keyword, value] of Object.entries(part)) {
    if (keyword === 'properties') made[keyword] = { ...(value as Made), ...(made[keyword] as Made | undefined) };
    else if (keyword === 'required' && Array.isArray(value))
      made[keyword] = [...new Set([...((made[keyword] as unknown[] | undefined) ?? []), ...(value as unknown[])])];
    else if (keyword !== 'x-mcp-header') made[keyword] ??= value;
  }
}

const listOf = (value: unknown): Schema[] => (Array.isArray(value) ? (value as Schema[]) : []);
const mapped = (value: unknown, make: Make): unknown =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, make(inner as Schema)]))
    : value;
