import { isObject } from '@cortex/contracts/is-object';

/** A JSON Schema: an object of keywords, or a boolean. Object members of one are schemas only at the places below. */
export type Schema = boolean | SchemaObject;
export type SchemaObject = Readonly<Record<string, unknown>>;

export const DIALECTS = {
  'https://json-schema.org/draft/2020-12/schema': '2020-12',
  'https://json-schema.org/draft/2019-09/schema': '2019-09',
  'http://json-schema.org/draft-07/schema': 'draft-07',
  'http://json-schema.org/draft-06/schema': 'draft-06',
} as const;
export type Dialect = (typeof DIALECTS)[keyof typeof DIALECTS];

/** The dialect that `$schema` names, 2020-12 where there is none; undefined for one that nobody here understands. */
export function dialectOf(schema: SchemaObject): Dialect | undefined {
  const { $schema: name } = schema;
  if (name === undefined) return '2020-12';
  if (typeof name !== 'string') return undefined;
  const uri = name.replace(/#$/, '');
  return Object.hasOwn(DIALECTS, uri) ? DIALECTS[uri as keyof typeof DIALECTS] : undefined;
}

/** In these a `$ref` stands alone: what is written beside it counts for nothing. */
export const isOld = (dialect: Dialect): boolean => dialect === 'draft-07' || dialect === 'draft-06';

/** Keywords whose value is one schema, a list of schemas, or an object of schemas by name; in every dialect alike. */
const ONE = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
const LIST = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']);
const BY_NAME = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);

export const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'] as const;
export type Reference = (typeof REFERENCES)[number];

/** Keywords that say something about a value without allowing or forbidding any. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$comment',
  'default',
  'deprecated',
  'description',
  'examples',
  'readOnly',
  'title',
  'writeOnly',
  'x-mcp-header',
]);

export interface Child {
  /** From the schema that holds it: a keyword, and where there are several its name or position. */
  readonly path: readonly string[];
  readonly schema: Schema;
}

/** The schemas right below one, in the order of the text. What stands in `const`, `enum`, `default` or an unknown keyword is none. */
export function childrenOf(schema: SchemaObject): Child[] {
  const children: Child[] = [];
  for (const [keyword, value] of Object.entries(schema))
    mapKeyword(keyword, value, (child, path) => {
      children.push({ path, schema: child });
      return child;
    });
  return children;
}

/** The value of a keyword with every schema in it replaced; the value itself where the keyword holds none. */
export function mapKeyword(
  keyword: string,
  value: unknown,
  make: (schema: Schema, path: readonly string[]) => unknown,
): unknown {
  if (ONE.has(keyword) && isSchema(value)) return make(value, [keyword]);
  if (LIST.has(keyword) && Array.isArray(value))
    return value.map((item: unknown, i) => (isSchema(item) ? make(item, [keyword, String(i)]) : item));
  if (BY_NAME.has(keyword) && isObject(value))
    // Not by assignment: a property may be called `__proto__`.
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, isSchema(item) ? make(item, [keyword, name]) : item]),
    );
  return value;
}

export const isSchema = (value: unknown): value is Schema => typeof value === 'boolean' || isObject(value);

export const pointerOf = (path: readonly string[]): string =>
  path.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** The same members without some. */
export const without = (schema: SchemaObject, ...names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)));
