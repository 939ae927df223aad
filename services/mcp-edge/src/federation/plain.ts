import type { ReadSchemas } from './declarations.js';

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
