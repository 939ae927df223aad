import { sha256Hex } from '@cortex/contracts';
import type { ReadSchemas } from './declarations.js';
import type { Declared, DigestOf, Review, Reviewed } from './types.js';

const NO_PARAMETERS = { text: '{"type":"object","properties":{}}', value: { type: 'object', properties: {} } };

/** Takes schemas as they are. */
export const plainSchemas: ReadSchemas = (raw, value) => {
  const schema = (name: string) => {
    const text = raw.get(name);
    const parsed = value[name];
    return text === undefined || typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)
      ? undefined
      : { text, value: parsed as Record<string, unknown> };
  };
  const output = schema('outputSchema');
  return { input: schema('inputSchema') ?? NO_PARAMETERS, ...(output && { output }) };
};

const reviewed = new WeakMap<Declared, Reviewed>();
/** Offers everything that was declared. */
export const servedAsDeclared: Review = async (_backend, declared) => {
  const known = reviewed.get(declared) ?? { served: declared, held: [] };
  reviewed.set(declared, known);
  return known;
};

export const textDigest: DigestOf = ({ raw }) =>
  sha256Hex(JSON.stringify([...raw].sort(([a], [b]) => (a < b ? -1 : 1))));
