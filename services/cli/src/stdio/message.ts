import { isObject } from '@cortex/contracts/is-object';

/** Of a JSON-RPC request. */
export type RpcId = string | number;

/** A message of the client, as far as the bridge has to know it. `version`: the revision that a message of the stateless era names. */
export type ClientMessage =
  | { kind: 'request'; id: RpcId; method: string; params: Json; version: string | undefined }
  | { kind: 'notification'; method: string; params: Json; version: string | undefined }
  | { kind: 'response' }
  | { kind: 'batch'; ids: RpcId[] }
  | { kind: 'invalid'; id: RpcId | undefined; problem: string };

export type Json = Readonly<Record<string, unknown>>;

/** Codes of JSON-RPC and MCP that the bridge says itself or looks for. */
export const CODE = { parse: -32700, invalidRequest: -32600, internal: -32603, headerMismatch: -32020 } as const;
const VERSION = 'io.modelcontextprotocol/protocolVersion';

const isId = (value: unknown): value is RpcId => typeof value === 'string' || Number.isSafeInteger(value);

/** What a message is. Nothing is judged that the gateway judges: it has to be possible to ask it, no more. */
export function readMessage(message: unknown): ClientMessage {
  // Of which no answer could come: it holds nothing that could have one.
  if (Array.isArray(message) && message.length === 0) return invalid(undefined, 'The batch is empty; send a message');
  if (Array.isArray(message))
    return { kind: 'batch', ids: message.flatMap((one) => (isObject(one) && isId(one['id']) ? [one['id']] : [])) };
  if (!isObject(message)) return invalid(undefined, 'The line holds no JSON-RPC message');
  const { id, method } = message;
  if (method === undefined && ('result' in message || 'error' in message)) return { kind: 'response' };
  if ('id' in message && !isId(id)) return invalid(undefined, 'id must be a string or an integer');
  if (typeof method !== 'string' || method === '') return invalid(isId(id) ? id : undefined, 'method must be a string');
  const params = isObject(message['params']) ? message['params'] : {};
  const meta = params['_meta'];
  const named = isObject(meta) ? meta[VERSION] : undefined;
  const version = typeof named === 'string' ? named : undefined;
  return isId(id)
    ? { kind: 'request', id, method, params, version }
    : { kind: 'notification', method, params, version };
}

const invalid = (id: RpcId | undefined, problem: string): ClientMessage => ({ kind: 'invalid', id, problem });

/** An error response as one line; without an id where none was readable. */
export const errorLine = (id: RpcId | undefined, code: number, message: string, data?: unknown): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    error: { code, message, ...(data !== undefined && { data }) },
  });

/** An error of a gateway that had not read the request yet, and so names none. */
export const isUnnamedError = (message: unknown): message is Json =>
  isObject(message) && isObject(message['error']) && (message['id'] === undefined || message['id'] === null);

/** The same for whoever waits for the answer to this request. */
export const named = (message: Json, id: RpcId): string => JSON.stringify({ ...message, id });

/**
 * JSON as one line, otherwise as it was written: numbers and the order of members stay. Line breaks can only stand between its tokens, since
 * a string holds them escaped.
 */
export const oneLine = (json: string): string => json.replaceAll(/[\r\n]+/g, ' ').trim();
