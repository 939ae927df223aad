import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '@cortex/contracts/is-object';
import type { Catalog } from '../catalog/catalog.js';
import {
  decodeHeader,
  fault,
  headerValue,
  mismatch,
  type ModernRequest,
  RPC,
  type RpcFault,
  type RpcId,
} from './envelope.js';

/** A parameter that must be mirrored as `Mcp-Param-<name>`. */
export interface ParamHeader {
  /** As the schema spells it; sent as `mcp-param-<lower case>`. */
  name: string;
  path: readonly string[];
  type: 'string' | 'integer' | 'boolean';
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Keywords below which an annotation cannot be followed to one place in the arguments. */
const OFF_PATH = new Set(['properties']);

/** The annotated parameters of a schema, or why the tool has to be dropped. Source: gateway, section 4.3. */
export function paramHeadersOf(schema: Readonly<Record<string, unknown>>): ParamHeader[] | { invalid: string } {
  const found: ParamHeader[] = [];
  const seen = new Set<string>();
  const walk = (node: unknown, path: readonly string[], reachable: boolean): string | undefined => {
    if (Array.isArray(node)) return firstOf(node, (child) => walk(child, path, false));
    if (!isObject(node)) return undefined;
    const name = node['x-mcp-header'];
    if (name !== undefined) {
      const { type } = node;
      const where = path.join('.') || 'the root';
      if (typeof name !== 'string' || !TOKEN.test(name)) return `x-mcp-header of ${where} is no header token`;
      if (seen.has(name.toLowerCase())) return `x-mcp-header "${name}" is used twice`;
      if (type !== 'string' && type !== 'integer' && type !== 'boolean')
        return `x-mcp-header of ${where} is on no string, integer or boolean`;
      if (!reachable || path.length === 0) return `x-mcp-header "${name}" is not reachable through properties alone`;
      seen.add(name.toLowerCase());
      found.push({ name, path, type });
    }
    return firstOf(Object.entries(node), ([key, child]) => {
      if (OFF_PATH.has(key) && isObject(child))
        return firstOf(Object.entries(child), ([property, sub]) => walk(sub, [...path, property], reachable));
      return walk(child, path, false);
    });
  };
  const invalid = walk(schema, [], true);
  return invalid === undefined ? found : { invalid };
}

const firstOf = <T>(items: readonly T[], check: (item: T) => string | undefined): string | undefined => {
  for (const item of items) {
    const fault = check(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
};

/** What keeps a `tools/call` from being a call at all: no name, or parameters that are not mirrored. */
export function callFault(
  catalog: Pick<Catalog, 'find'>,
  { id, params }: ModernRequest,
  headers: IncomingHttpHeaders,
): RpcFault | undefined {
  const { name } = params;
  if (typeof name !== 'string' || name === '')
    return fault(RPC.invalidParams, 'params.name must be the name of a tool', { id });
  const declared = catalog.find(name)?.paramHeaders;
  return declared === undefined || declared.length === 0
    ? undefined
    : checkParamHeaders(declared, params['arguments'], headers, id);
}

/** Step 13 of the pipeline: each annotated argument that is there must be mirrored, and rightly. */
export function checkParamHeaders(
  declared: readonly ParamHeader[],
  args: unknown,
  headers: IncomingHttpHeaders,
  id: RpcId,
): RpcFault | undefined {
  for (const { name, path, type } of declared) {
    const value = path.reduce<unknown>((node, key) => (isObject(node) ? node[key] : undefined), args);
    if (value === undefined || value === null) continue;
    const header = `Mcp-Param-${name}`;
    const raw = headerValue(headers, header.toLowerCase());
    if (raw === undefined) return mismatch(header, undefined, value, 'is missing', id);
    const decoded = decodeHeader(raw);
    if (decoded === undefined) return mismatch(header, raw, value, 'is no header value or broken Base64', id);
    if (!mirrors(decoded, value, type)) return mismatch(header, raw, value, 'differs from the body', id);
  }
  return undefined;
}

function mirrors(text: string, value: unknown, type: ParamHeader['type']): boolean {
  if (type === 'integer' && typeof value === 'number')
    return /^-?\d+(?:\.\d+)?$/.test(text) && Number.isSafeInteger(Number(text)) && Number(text) === value;
  if (type === 'boolean' && typeof value === 'boolean') return text === String(value);
  return typeof value === 'string' && text === value;
}
