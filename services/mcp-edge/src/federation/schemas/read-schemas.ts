import type { ReadSchemas } from '../declarations.js';
import { checkSchema, type SchemaCheck } from './check.js';
import { schemaOfParams } from './params.js';

/**
 * The schemas of one declared tool. A bad `inputSchema` takes the tool away, a bad `outputSchema` itself alone; nothing is mended but a
 * missing `type`. Source: gateway, sections 12.11 and 13.8.
 */
export const readSchemas: ReadSchemas = (raw, value) => {
  const input = inputOf(raw, value);
  if ('fault' in input) return input;
  const schemas = { input, ...(input.repaired && { repaired: true as const }) };
  const text = raw.get('outputSchema');
  if (text === undefined) return schemas;
  const output = checkSchema(text, value['outputSchema'], 'output');
  return 'fault' in output ? { ...schemas, outputFault: output.fault } : { ...schemas, output };
};

function inputOf(raw: ReadonlyMap<string, string>, value: Readonly<Record<string, unknown>>): SchemaCheck {
  const declared = raw.get('inputSchema');
  if (declared !== undefined) return checkSchema(declared, value['inputSchema'], 'input');
  const written = schemaOfParams(value['params']);
  if ('fault' in written) return { fault: { pointer: '/params', reason: 'invalid_params', detail: written.fault } };
  return checkSchema(written.text, written.value, 'input');
}
