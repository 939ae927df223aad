import { isObject } from '@cortex/contracts/is-object';
import type { Schema } from './keywords.js';

/** The sentences in which a flat schema says what its original said by alternatives and conditions. */

const MAX_SENTENCE = 600;
const MAX_VALUE = 80;

export const told = (sentence: string): string =>
  sentence.length > MAX_SENTENCE ? `${sentence.slice(0, MAX_SENTENCE - 2)}….` : sentence;

/** The properties that one alternative wants together, with the values that tell it from the others. */
export function group(properties: ReadonlyMap<string, readonly Schema[]>, required: ReadonlySet<string>): string {
  const fixed = (name: string): string | undefined => {
    const [only, ...more] = properties.get(name) ?? [];
    const choice = more.length === 0 && only !== undefined ? valueOf(only) : undefined;
    return choice === undefined ? undefined : `${name} ${choice}`;
  };
  const telling = [...properties.keys()].filter((name) => !required.has(name) && fixed(name) !== undefined);
  const wanted = [...telling, ...required].map((name) => fixed(name) ?? name);
  if (wanted.length > 0) return wanted.join(' and ');
  return properties.size === 0 ? 'anything' : `any of ${[...properties.keys()].join(', ')}`;
}

export const supposed = (schema: Schema): string => phrase(schema, 'is given', 'fits');
export const demanded = (schema: Schema): string => phrase(schema, 'is required', 'must fit');
export const ruledOut = (schema: Schema): string => phrase(schema, 'is given', 'fits');

function phrase(schema: Schema, there: string, fits: string): string {
  if (!isObject(schema)) return schema ? 'anything goes' : 'nothing goes';
  const { properties, required } = schema;
  const named = isObject(properties) ? (Object.entries(properties) as [string, Schema][]) : [];
  const known = new Set(['properties', 'required', 'type', 'description', 'title', '$comment']);
  const parts = (Array.isArray(required) ? required : []).map((name) => `${String(name)} ${there}`);
  for (const [name, inner] of named) {
    const value = valueOf(inner);
    if (value !== undefined) parts.push(`${name} ${value}`);
    else if (isObject(inner) && Object.keys(inner).length > 0) parts.push(`${name} ${fits} ${short(inner)}`);
  }
  const other = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !known.has(keyword)));
  if (Object.keys(other).length > 0) parts.push(`the whole ${fits} ${short(other)}`);
  return parts.length === 0 ? 'anything goes' : [...new Set(parts)].join(' and ');
}

/** `is "a"`, for a schema that leaves one value or a few. */
function valueOf(schema: Schema): string | undefined {
  if (!isObject(schema)) return undefined;
  if ('const' in schema) return `is ${short(schema['const'])}`;
  const { enum: values } = schema;
  if (!Array.isArray(values) || values.length === 0) return undefined;
  return values.length === 1 ? `is ${short(values[0])}` : `is one of ${values.map(short).join(', ')}`;
}

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE - 1)}…` : text;
}
