import { isObject } from '@cortex/contracts/is-object';
import { idOf, type RpcId } from '../mcp/envelope.js';

export type Json = Record<string, unknown>;

export interface LegacyRequest {
  kind: 'request';
  id: RpcId;
  method: string;
  params: Json;
}
export type LegacyMessage =
  | LegacyRequest
  | { kind: 'notification'; method: string; params: Json }
  | { kind: 'response'; message: Json }
  | { kind: 'invalid'; id?: RpcId; problem: string };

/** What a parsed JSON value is in JSON-RPC. An id of null is never a notification: the client would wait for ever. */
export function readMessage(value: unknown): LegacyMessage {
  if (!isObject(value)) return { kind: 'invalid', problem: 'a message is a JSON object' };
  const { method, params = {} } = value;
  const id = idOf(value.id);
  const named = id === undefined ? {} : { id };
  if (value.jsonrpc !== '2.0') return { kind: 'invalid', ...named, problem: 'jsonrpc must be "2.0"' };
  if (method === undefined && id !== undefined && ('result' in value || 'error' in value))
    return { kind: 'response', message: value };
  if (typeof method !== 'string') return { kind: 'invalid', ...named, problem: 'method must be a string' };
  if (!isObject(params)) return { kind: 'invalid', ...named, problem: 'params must be an object' };
  if (!('id' in value)) return { kind: 'notification', method, params };
  if (id === undefined) return { kind: 'invalid', problem: 'id must be a string or an integer' };
  return { kind: 'request', id, method, params };
}

/** An answer as the dispatcher gives it; the transport writes it. */
export type Reply =
  | { result: Buffer }
  | {
      error: { code: number; message: string; data?: unknown };
      /** Where the transport can still say it. */
      status?: number;
      /** Scopes of the item that the caller lacks, for the challenge. */
      required_scopes?: readonly string[];
    };

export const resultOf = (value: unknown): Reply => ({ result: Buffer.from(JSON.stringify(value)) });

export const errorOf = (code: number, message: string, data?: unknown): Reply => ({
  error: { code, message, ...(data !== undefined && { data }) },
});

/** The whole JSON-RPC response as bytes. */
export function responseBytes(id: RpcId, reply: Reply): Buffer {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
  if ('error' in reply) return Buffer.from(`${head}"error":${JSON.stringify(reply.error)}}`);
  return Buffer.concat([Buffer.from(`${head}"result":`), reply.result, Buffer.from('}')]);
}
