import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '@cortex/contracts/is-object';
import { LEGACY_REVISIONS, MODERN } from '../seams.js';

/** Codes of the protocol and our own HTTP-like ones. Source: gateway, section 7.2. */
export const RPC = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
  missingCapability: -32021,
  /** Revisions before 2026-07-28 alone. */
  resourceNotFound: -32002,
} as const;

export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const;

export type RpcId = string | number;

export interface RpcFault {
  kind: 'fault';
  status: number;
  code: number;
  message: string;
  data?: unknown;
  /** Echoed where it was readable. */
  id?: RpcId;
}

export interface ModernRequest {
  kind: 'request';
  id: RpcId;
  method: string;
  params: Record<string, unknown>;
  meta: Record<string, unknown>;
}

export type Envelope = ModernRequest | { kind: 'notification'; method: string } | { kind: 'legacy' } | RpcFault;

/** What a 2026-07-28 request may ask for. Everything else is 404. */
export const MODERN_METHODS: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
  'subscriptions/listen',
]);

const LOG_LEVELS = new Set(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']);
/** Which parameter `Mcp-Name` repeats. */
const NAME_SOURCE: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/**
 * The era ladder and the header checks, pure: the body decides, headers only cross-check, the first failing step answers.
 * Source: gateway, sections 3.2, 3.3, 4.1 and 4.2.
 */
export function classify(message: unknown, headers: IncomingHttpHeaders): Envelope {
  if (!isObject(message))
    return Array.isArray(message)
      ? classifyBatch(message, headers)
      : fault(RPC.invalidRequest, 'The body is no JSON-RPC message');
  const { id, method } = message;
  const hasId = 'id' in message;
  if (hasId && !isId(id)) return fault(RPC.invalidRequest, 'id must be a string or an integer');
  if (message['jsonrpc'] !== '2.0') return fault(RPC.invalidRequest, 'jsonrpc must be "2.0"', { id: idOf(id) });
  if (method === undefined && hasId && ('result' in message || 'error' in message)) return { kind: 'legacy' };
  if (typeof method !== 'string' || method === '')
    return fault(RPC.invalidRequest, 'method must be a string', { id: idOf(id) });
  const { params } = message;
  if (params !== undefined && !isObject(params))
    return fault(RPC.invalidParams, 'params must be an object', { id: idOf(id) });
  const meta = params?.['_meta'];
  if (meta !== undefined && !isObject(meta))
    return fault(RPC.invalidParams, 'params._meta must be an object', { id: idOf(id) });
  const claimed = meta?.[META.version];
  if (meta !== undefined && META.version in meta && typeof claimed !== 'string')
    return fault(RPC.invalidParams, `_meta["${META.version}"] must be a string`, { id: idOf(id) });

  const named = headerValue(headers, 'mcp-protocol-version');
  const modernHeader = named === MODERN;
  if (claimed === undefined) {
    if (!modernHeader) return legacy(named, idOf(id));
    if (method === 'initialize')
      return mismatch(
        'MCP-Protocol-Version',
        named,
        undefined,
        'initialize belongs to the revisions before 2026-07-28',
        idOf(id),
      );
    if (!hasId) return { kind: 'notification', method };
    const missing = [META.version, ...(meta !== undefined && META.capabilities in meta ? [] : [META.capabilities])];
    return missingKeys(missing, idOf(id));
  }
  if (!hasId) return { kind: 'notification', method };
  return modernLadder(
    { kind: 'request', id: id as RpcId, method, params: params ?? {}, meta: meta ?? {} },
    claimed as string,
    named,
    headers,
  );
}

function modernLadder(
  request: ModernRequest,
  claimed: string,
  named: string | undefined,
  headers: IncomingHttpHeaders,
): Envelope {
  const { id, method, params, meta } = request;
  if (named === undefined) return mismatch('MCP-Protocol-Version', undefined, claimed, 'is missing', id);
  if (named !== claimed) return mismatch('MCP-Protocol-Version', named, claimed, 'differs from the body', id);
  if (claimed !== MODERN)
    return fault(RPC.unsupportedVersion, `Unsupported protocol version: ${claimed}`, {
      id,
      data: { supported: [MODERN], requested: claimed },
    });

  const methodHeader = headerValue(headers, 'mcp-method');
  if (methodHeader !== method)
    return mismatch(
      'Mcp-Method',
      methodHeader,
      method,
      methodHeader === undefined ? 'is missing' : 'differs from the body',
      id,
    );
  const source = NAME_SOURCE[method];
  if (source !== undefined) {
    const value = params[source];
    const nameHeader = headerValue(headers, 'mcp-name');
    if (nameHeader === undefined) {
      if (value !== undefined) return mismatch('Mcp-Name', undefined, value, 'is missing', id);
    } else {
      const decoded = decodeHeader(nameHeader);
      if (decoded === undefined)
        return mismatch('Mcp-Name', nameHeader, value, 'is no header value or broken Base64', id);
      if (decoded !== value) return mismatch('Mcp-Name', nameHeader, value, 'differs from the body', id);
    }
  }

  if (!(META.capabilities in meta)) return missingKeys([META.capabilities], id);
  if (!isObject(meta[META.capabilities]))
    return fault(RPC.invalidParams, `_meta["${META.capabilities}"] must be an object`, { id });
  const level = meta[META.logLevel];
  if (level !== undefined && !(typeof level === 'string' && LOG_LEVELS.has(level)))
    return fault(RPC.invalidParams, `_meta["${META.logLevel}"] is no syslog level`, { id });
  const token = meta['progressToken'];
  if (token !== undefined && !isId(token))
    return fault(RPC.invalidParams, '_meta.progressToken must be a string or an integer', { id });
  if (!MODERN_METHODS.has(method))
    return { kind: 'fault', status: 404, code: RPC.methodNotFound, message: `Method not found: ${method}`, id };
  return request;
}

/** A version header that names no revision at all is refused; another one than the session's is the session's affair. */
function legacy(named: string | undefined, id: RpcId | undefined): Envelope {
  if (named === undefined || (LEGACY_REVISIONS as readonly string[]).includes(named)) return { kind: 'legacy' };
  return fault(RPC.invalidRequest, `Unsupported protocol version: ${named}`, {
    id,
    data: { supported: [MODERN, ...LEGACY_REVISIONS] },
  });
}

/** Batches exist in 2025-03-26 alone, where the session layer takes them. */
function classifyBatch(batch: readonly unknown[], headers: IncomingHttpHeaders): Envelope {
  if (batch.length === 0) return fault(RPC.invalidRequest, 'An empty batch is no message');
  const alien = batch.some((entry) => {
    if (!isObject(entry)) return false;
    if (entry['method'] === 'initialize') return true;
    const params = entry['params'];
    const meta = isObject(params) ? params['_meta'] : undefined;
    return isObject(meta) && META.version in meta;
  });
  const named = headerValue(headers, 'mcp-protocol-version');
  if (
    alien ||
    named === MODERN ||
    (named !== undefined && named !== '2025-03-26') ||
    headers['mcp-session-id'] === undefined
  )
    return fault(RPC.invalidRequest, 'Batches are not supported; send one message per request');
  return { kind: 'legacy' };
}

const VISIBLE = /^[\t\x20-\x7e]*$/;
const SENTINEL = /^=\?base64\?(.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The value of a mirrored header, its Base64 sentinel decoded; undefined when it is no such value. */
export function decodeHeader(value: string): string | undefined {
  if (!VISIBLE.test(value)) return undefined;
  const encoded = SENTINEL.exec(value)?.[1];
  if (encoded === undefined) return value;
  if (!BASE64.test(encoded)) return undefined;
  try {
    return utf8.decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}

/** One header's value without surrounding spaces and tabs. */
export function headerValue(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  const text = Array.isArray(value) ? value.join(', ') : value;
  if (text === undefined) return undefined;
  const first = text.charCodeAt(0);
  const last = text.charCodeAt(text.length - 1);
  return first === 32 || first === 9 || last === 32 || last === 9 ? text.replace(/^[ \t]+|[ \t]+$/g, '') : text;
}

const isId = (value: unknown): value is RpcId => typeof value === 'string' || Number.isSafeInteger(value);
/** The id for an error: left out where it was not readable. */
export const idOf = (value: unknown): RpcId | undefined => (isId(value) ? value : undefined);

export const fault = (
  code: number,
  message: string,
  more: { id?: RpcId | undefined; data?: unknown; status?: number } = {},
): RpcFault => ({
  kind: 'fault',
  status: more.status ?? 400,
  code,
  message,
  ...(more.data !== undefined && { data: more.data }),
  ...(more.id !== undefined && { id: more.id }),
});

const missingKeys = (missing: readonly string[], id: RpcId | undefined): RpcFault =>
  fault(RPC.invalidParams, `params._meta lacks ${missing.map((key) => `"${key}"`).join(' and ')}`, {
    id,
    data: { envelope: { missing } },
  });

/** The message names header, header value and body value. */
export function mismatch(
  header: string,
  value: string | undefined,
  body: unknown,
  problem: string,
  id: RpcId | undefined,
): RpcFault {
  const shown = body === undefined ? 'nothing' : JSON.stringify(body);
  const seen = value === undefined ? '' : ` (header ${JSON.stringify(value)})`;
  return fault(RPC.headerMismatch, `Header ${header}${seen} ${problem}; the body holds ${shown}`, {
    id,
    data: { mismatch: { header: value ?? null, body: body ?? null } },
  });
}
