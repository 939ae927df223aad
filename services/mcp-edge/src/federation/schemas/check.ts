import { isObject } from '@cortex/contracts/is-object';
import { paramHeadersOf } from '../../mcp/param-headers.js';
import { CHECK_LIMITS, type Fault, SchemaDocument, SchemaFault } from './document.js';
import { type Dialect, dialectOf, isOld, type SchemaObject } from './keywords.js';
import { metaFault } from './meta-schemas.js';
import { checkReferences } from './ref-rings.js';

export const MAX_SCHEMA_BYTES = 256 * 1024;
/** Of any JSON inside one another, data in `default` or `const` included: what is nested deeper breaks whoever reads it by recursion. */
const MAX_NESTING = 160;

/** A schema that may be listed. */
export interface CheckedSchema {
  /** Compact JSON as it is listed: the declared text, with `type` put in front where `repaired`. */
  readonly text: string;
  readonly value: SchemaObject;
  readonly dialect: Dialect;
  readonly repaired: boolean;
}
export type SchemaCheck = CheckedSchema | { readonly fault: Fault };

/**
 * Looks at a schema as a tool declares it, once, before anybody is shown it. `text` is compact and valid JSON, `value` the same. Reads
 * nothing but the text: no reference leaves it. Source: gateway, sections 12.11 and 13.8.
 */
export function checkSchema(text: string, value: unknown, kind: 'input' | 'output'): SchemaCheck {
  try {
    return checked(text, value, kind);
  } catch (error) {
    if (error instanceof RangeError)
      return { fault: { pointer: '', reason: 'too_deep', detail: 'it is too deep to be read' } };
    if (!(error instanceof SchemaFault)) throw error;
    const { pointer, reason, detail } = error;
    return { fault: { pointer, reason, detail } };
  }
}

function checked(text: string, value: unknown, kind: 'input' | 'output'): CheckedSchema {
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES)
    throw new SchemaFault('too_large', '', `is larger than ${MAX_SCHEMA_BYTES / 1024} KiB`);
  if (nesting(text) > MAX_NESTING)
    throw new SchemaFault('too_deep', '', `more than ${MAX_NESTING} objects and lists are inside one another`);
  if (!isObject(value)) throw new SchemaFault('root_type', '', 'is no object');
  const repaired = kind === 'input' && value['type'] === undefined;
  if (kind === 'input' && !repaired && value['type'] !== 'object')
    throw new SchemaFault('root_type', '/type', 'the arguments of a tool are an object, so type must be "object"');
  const dialect = dialectOf(value);
  if (dialect === undefined) throw unknownDialect('', value);
  const document = new SchemaDocument(value, dialect, CHECK_LIMITS);
  checkMeta(value, '', dialect);
  for (const target of checkReferences(document)) {
    const { pointer } = document.placeOf(target);
    // Where the meta-schema of the whole does not look.
    if (!document.isExpected(target) || (isOld(dialect) && pointer.includes('/$defs/')))
      checkMeta(target, pointer, dialect);
  }
  for (const [schema, { pointer }] of document.places()) {
    if (schema['$schema'] !== undefined && dialectOf(schema) !== dialect) throw unknownDialect(pointer, schema);
    checkPatterns(schema, pointer, kind);
  }
  if (kind === 'input') {
    const headers = paramHeadersOf(value);
    if (!Array.isArray(headers)) throw new SchemaFault('param_header', '', headers.invalid);
  }
  if (!repaired) return { text, value, dialect, repaired };
  const more = text === '{}' ? '' : ',';
  return { text: `{"type":"object"${more}${text.slice(1)}`, value: { type: 'object', ...value }, dialect, repaired };
}

function checkMeta(schema: SchemaObject, at: string, dialect: Dialect): void {
  const invalid = metaFault(schema, dialect);
  if (invalid !== undefined) throw new SchemaFault('invalid_schema', at + invalid.pointer, invalid.detail);
}

const unknownDialect = (pointer: string, { $schema }: SchemaObject): SchemaFault =>
  new SchemaFault(
    'dialect_not_supported',
    `${pointer}/$schema`,
    `dialect not supported: ${JSON.stringify($schema).slice(0, 200)}`,
  );

/**
 * A client compiles the output schemas of a whole list, patterns with the flag `u` as JSON Schema wants it, and drops the list when one of
 * them does not compile. Of arguments nobody does, and many older patterns are good without the flag.
 */
function checkPatterns(schema: SchemaObject, pointer: string, kind: 'input' | 'output'): void {
  const { pattern, patternProperties } = schema;
  const keys = isObject(patternProperties) ? Object.keys(patternProperties) : [];
  if (typeof pattern === 'string' && !compiles(pattern, kind))
    throw new SchemaFault('invalid_pattern', `${pointer}/pattern`, 'is no regular expression');
  if (!keys.every((key) => compiles(key, kind)))
    throw new SchemaFault('invalid_pattern', `${pointer}/patternProperties`, 'a name is no regular expression');
}

const compiles = (pattern: string, kind: 'input' | 'output'): boolean =>
  isPattern(pattern, 'u') || (kind === 'input' && isPattern(pattern, ''));

function isPattern(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

/** How many objects and lists are inside one another, seen in the text: no recursion that it could exhaust. */
function nesting(json: string): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (quoted) {
      if (character === '\\') i++;
      else quoted = character !== '"';
    } else if (character === '"') quoted = true;
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth);
    else if (character === '}' || character === ']') depth--;
  }
  return deepest;
}
