import { isObject } from '@cortex/contracts/is-object';
import { SchemaFault } from './document.js';
import { demanded, group, ruledOut, supposed, told } from './flat-words.js';
import { inline } from './inline.js';
import { sameJson } from './json-values.js';
import { type Schema, type SchemaObject, without } from './keywords.js';
import { checkReferences } from './ref-rings.js';
import { besideReferences, documentOf, type Draft, referencesOf, type Step, Unprojectable } from './step.js';

/** What the root of a flat schema does not have. */
const COMBINING = [
  'allOf',
  'anyOf',
  'dependentSchemas',
  'else',
  'if',
  'not',
  'oneOf',
  'then',
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
];
/** Of a part that is merged: identity, definitions that stay where they are, and what only makes sense beside all the rest. */
const NOT_MERGED = ['$anchor', '$defs', '$dynamicAnchor', '$id', '$schema', 'definitions', 'unevaluatedProperties'];

/** What a schema says about an object, without alternatives. */
interface Flat {
  /** Different schemas for a property, first those that hold for certain. */
  readonly properties: Map<string, Schema[]>;
  readonly required: Set<string>;
  /** All other keywords. */
  readonly rest: Map<string, unknown>;
  readonly sentences: string[];
}

/**
 * A root without alternatives: what all parts of `allOf` demand is merged, the properties of alternatives are offered together as optional,
 * and sentences in `description` say what belongs together. It requires nothing more than the original. A property is offered as those
 * alternatives describe it that do, even where another one leaves it open: without a type nobody would know how to fill it in.
 */
export const flat: Step = (draft) => {
  if (!needsIt(draft.schema)) return draft;
  const resources = new Set([...documentOf(draft).places()].map(([, { resource }]) => resource));
  if (resources.size > 1) return flattened(inline(draft));
  const result = flattened(draft);
  try {
    checkReferences(documentOf(result));
    return result;
  } catch (error) {
    if (!(error instanceof SchemaFault)) throw error;
    // A reference led into a part that is no more.
    return flattened(inline(draft));
  }
};

const needsIt = (schema: SchemaObject): boolean =>
  COMBINING.some((keyword) => keyword in schema) || hasSchemas(schema['dependencies']);
const hasSchemas = (dependencies: unknown): boolean =>
  isObject(dependencies) && Object.values(dependencies).some((one) => !Array.isArray(one));

function flattened(draft: Draft): Draft {
  const { schema, dialect } = draft;
  const document = documentOf(draft);

  /** Undefined: no object fits. `around` = the schemas that are being read, so that a way back into one of them adds nothing. */
  const read = (part: Schema, around: readonly SchemaObject[]): Flat | undefined => {
    if (part === false) return undefined;
    const found: Flat = { properties: new Map(), required: new Set(), rest: new Map(), sentences: [] };
    if (part === true || around.includes(part)) return found;
    const inner = [...around, part];
    const own = besideReferences(part, dialect);
    const { type, properties, required } = own;
    if (type !== undefined && ![type].flat().includes('object')) return undefined;
    for (const [name, property] of membersOf(properties)) found.properties.set(name, [property]);
    for (const name of Array.isArray(required) ? (required as string[]) : []) found.required.add(name);
    for (const [keyword, value] of Object.entries(without(own, ...COMBINING, 'properties', 'required')))
      found.rest.set(keyword, value);
    const targets = referencesOf(part, dialect).map(([, reference]) => document.resolve(part, reference));
    for (const next of [...targets, ...listOf(own['allOf'])]) {
      const more = read(next, inner);
      if (more === undefined) return undefined;
      demandAll(found, more);
    }
    for (const keyword of ['oneOf', 'anyOf'] as const) {
      const alternatives = listOf(own[keyword]);
      if (alternatives.length === 0) continue;
      const branches = alternatives.map((one) => read(one, inner)).filter((one) => one !== undefined);
      const [first] = branches;
      if (first === undefined) return undefined;
      if (branches.length === 1) demandAll(found, first);
      else offerAny(found, branches, keyword);
    }
    conditions(found, own, (next) => read(next, inner));
    return found;
  };

  const merged = read(schema, []);
  if (merged === undefined) throw new Unprojectable('no object fits the alternatives at its root');
  return { ...draft, schema: written(schema, merged) };
}

/** Both hold. */
function demandAll(found: Flat, more: Flat): void {
  for (const [name, schemas] of more.properties) for (const one of schemas) unite(found.properties, name, one);
  for (const name of more.required) found.required.add(name);
  found.sentences.push(...more.sentences);
  for (const [keyword, value] of more.rest) {
    if (NOT_MERGED.includes(keyword)) continue;
    const before = found.rest.get(keyword);
    if (before === undefined) found.rest.set(keyword, value);
    else if (keyword === 'patternProperties' && isObject(before) && isObject(value))
      found.rest.set(keyword, { ...value, ...before });
  }
}

/** At least one holds, or exactly one: all are offered, and what each of them requires is required. */
function offerAny(found: Flat, branches: readonly Flat[], keyword: 'oneOf' | 'anyOf'): void {
  for (const { properties } of branches)
    for (const [name, schemas] of properties) for (const one of schemas) unite(found.properties, name, one);
  for (const name of branches[0]?.required ?? [])
    if (branches.every(({ required }) => required.has(name))) found.required.add(name);
  const groups = branches.map(({ properties, required }) => group(properties, required));
  const how = keyword === 'oneOf' ? 'exactly one' : 'at least one';
  found.sentences.push(told(`Give ${how} of these groups: ${groups.join('; or ')}.`));
}

/** What only holds under a condition is offered, and told. */
function conditions(found: Flat, own: SchemaObject, read: (schema: Schema) => Flat | undefined): void {
  const offer = (schema: Schema): void => {
    for (const [name, schemas] of read(schema)?.properties ?? [])
      if (!found.properties.has(name)) found.properties.set(name, schemas);
  };
  const { if: condition, then, else: otherwise, not, dependentSchemas, dependencies } = own;
  if (condition !== undefined && (then !== undefined || otherwise !== undefined)) {
    const parts = [then, otherwise].filter((part) => part !== undefined) as Schema[];
    for (const part of [condition as Schema, ...parts]) offer(part);
    const first = then === undefined ? '' : `, ${demanded(then as Schema)}`;
    const second =
      otherwise === undefined
        ? ''
        : `${then === undefined ? ', all is well' : ''}; otherwise ${demanded(otherwise as Schema)}`;
    found.sentences.push(told(`If ${supposed(condition as Schema)}${first}${second}.`));
  }
  if (not !== undefined) found.sentences.push(told(`Not allowed: ${ruledOut(not as Schema)}.`));
  const dependent = [
    ...membersOf(dependentSchemas),
    ...membersOf(dependencies).filter(([, one]) => !Array.isArray(one)),
  ];
  for (const [name, schema] of dependent) {
    offer(schema);
    found.sentences.push(told(`If ${name} is given, ${demanded(schema)}.`));
  }
  if (hasSchemas(dependencies)) {
    const lists = Object.entries(dependencies as object).filter(([, one]) => Array.isArray(one));
    if (lists.length === 0) found.rest.delete('dependencies');
    else found.rest.set('dependencies', Object.fromEntries(lists));
  }
}

function unite(properties: Map<string, Schema[]>, name: string, next: Schema): void {
  const known = properties.get(name) ?? [];
  // What is mirrored in a header must stay right there; it stands in what holds for certain, so it may stand alone.
  if (known.some((one) => sameJson(one, next)) || known.some(isMirrored)) return;
  properties.set(name, [...known, next]);
}
const isMirrored = (schema: Schema): boolean => JSON.stringify(schema).includes('"x-mcp-header"');

function written(root: SchemaObject, { properties, required, rest, sentences }: Flat): SchemaObject {
  const description = [rest.get('description'), ...sentences].filter((one) => typeof one === 'string').join(' ');
  const made = new Map<string, unknown>();
  // In the order of the original, so that little moves.
  for (const keyword of [...Object.keys(root), ...rest.keys(), 'properties', 'required', 'description']) {
    if (COMBINING.includes(keyword) || keyword === 'unevaluatedProperties') continue;
    if (keyword === 'properties') {
      if (properties.size > 0)
        made.set(keyword, Object.fromEntries([...properties].map(([name, all]) => [name, any(all)])));
    } else if (keyword === 'required') {
      if (required.size > 0) made.set(keyword, [...required]);
    } else if (keyword === 'description') {
      if (description !== '') made.set(keyword, description);
    } else if (rest.has(keyword)) made.set(keyword, rest.get(keyword));
  }
  return { ...Object.fromEntries(made), type: 'object' };
}

const any = (schemas: readonly Schema[]): Schema =>
  schemas.length === 1 ? (schemas[0] as Schema) : { anyOf: schemas };
const listOf = (value: unknown): Schema[] => (Array.isArray(value) ? (value as Schema[]) : []);
const membersOf = (value: unknown): [string, Schema][] =>
  isObject(value) ? (Object.entries(value) as [string, Schema][]) : [];
