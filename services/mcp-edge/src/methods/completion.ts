import { isObject } from '@cortex/contracts/is-object';
import type { FederatedCatalog } from '../federation/types.js';
import { RPC } from '../mcp/envelope.js';
import { badParams, refused, unknownPrompt } from './faults.js';
import { type Item, promptOf, referredTo } from './items.js';
import type { Json } from './types.js';

const MAX_VALUES = 100;

/** What a `completion/complete` is about: the item, and the parameters as its backend knows them. */
export function completionAsked(catalog: FederatedCatalog, params: Json): { item: Item; params: Json } {
  const { ref, argument, context } = params;
  if (!isObject(ref)) throw badParams('params.ref is missing; name a prompt or a resource');
  if (!isObject(argument) || typeof argument['name'] !== 'string' || typeof argument['value'] !== 'string')
    throw badParams('params.argument must hold name and value as strings');
  const known = context === undefined ? {} : isObject(context) ? { context } : undefined;
  if (known === undefined) throw badParams('params.context must be an object');
  const { item, original } = referenced(catalog, ref);
  const { name, value } = argument;
  return { item, params: { ref: original, argument: { name, value }, ...known } };
}

function referenced(catalog: FederatedCatalog, ref: Json): { item: Item; original: Json } {
  const { type, name, uri } = ref;
  if (type === 'ref/prompt') {
    if (typeof name !== 'string') throw badParams('params.ref.name is missing; name the prompt');
    const item = promptOf(catalog, name);
    if (item === undefined) throw unknownPrompt(name);
    return { item, original: { type, name: item.original } };
  }
  if (type !== 'ref/resource') throw badParams('params.ref.type must be ref/prompt or ref/resource');
  if (typeof uri !== 'string') throw badParams('params.ref.uri is missing; name the resource');
  const item = referredTo(catalog, uri);
  if (item === undefined)
    throw refused(RPC.invalidParams, 'Resource not found', { data: { uri: uri.slice(0, 512) }, kind: 'not_found' });
  return { item, original: { type, uri } };
}

/** At most a hundred values, in the order of the backend; undefined when the value is no answer to `complete`. */
export function completionOf(value: unknown): Json | undefined {
  if (!isObject(value) || !Array.isArray(value['values'])) return undefined;
  const { total, hasMore } = value;
  const values = value['values'] as unknown[];
  if (!values.every((one) => typeof one === 'string')) return undefined;
  const more = values.length > MAX_VALUES || hasMore === true;
  return {
    values: values.slice(0, MAX_VALUES),
    ...(Number.isSafeInteger(total) && { total }),
    ...((more || hasMore === false) && { hasMore: more }),
  };
}
