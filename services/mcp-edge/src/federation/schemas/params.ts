import { isObject } from '@cortex/contracts/is-object';

/** `string[]?`: a type, many of it, may be left out. */
const SHORTHAND = /^(string|number|boolean|integer)(\[\])?(\?)?$/;

/**
 * The arguments of a tool that declares them in short, `{query: "string", tags: "string[]?"}`, as the JSON Schema that clients get: text and
 * value. Source: gateway, section 12.11.
 */
export function schemaOfParams(params: unknown): { text: string; value: Record<string, unknown> } | { fault: string } {
  if (params !== undefined && !isObject(params)) return { fault: 'params is no object of names and types' };
  const properties: [string, unknown][] = [];
  const required: string[] = [];
  for (const [name, shorthand] of Object.entries(params ?? {})) {
    const parts = typeof shorthand === 'string' ? SHORTHAND.exec(shorthand) : null;
    if (parts === null) {
      const known = 'string, number, boolean or integer, with [] for many and ? for optional';
      return { fault: `params.${name.slice(0, 100)} is ${JSON.stringify(shorthand)?.slice(0, 100)}; use ${known}` };
    }
    const [, type, many, optional] = parts;
    properties.push([name, many === undefined ? { type } : { type: 'array', items: { type } }]);
    if (optional === undefined) required.push(name);
  }
  const value = {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
  };
  return { text: JSON.stringify(value), value };
}
