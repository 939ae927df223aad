import type { IncomingMessage, ServerResponse } from 'node:http';

const METHODS = 'POST, GET, DELETE, OPTIONS';
const EXPOSED = 'Mcp-Session-Id, WWW-Authenticate, Retry-After';
const ALLOWED = [
  'Content-Type',
  'Authorization',
  'Accept',
  'Mcp-Session-Id',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Last-Event-ID',
  'X-Dev-Mode',
  'X-Cortex-Backends',
  'X-Cortex-Tool-Mode',
  'X-Cortex-Schema-Profile',
  'traceparent',
  'tracestate',
];
const PARAM_HEADER = /^mcp-param-[\w-]{1,100}$/i;

/** Headers of a real response to an allowed origin; credentials mode is never allowed. Source: gateway, section 2.4. */
export const corsHeaders = (origin: string): readonly string[] => [
  'Access-Control-Allow-Origin',
  origin,
  'Vary',
  'Origin',
  'Access-Control-Expose-Headers',
  EXPOSED,
];

/** Headers of the documents that anybody may read. */
export const PUBLIC_CORS: readonly string[] = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'ETag',
];

/** Answers a preflight of an allowed origin for the MCP routes. */
export function answerPreflight(req: IncomingMessage, res: ServerResponse, base: readonly string[]): void {
  const requested = (req.headers['access-control-request-headers'] ?? '').split(',').map((name) => name.trim());
  const params = requested.filter((name) => PARAM_HEADER.test(name)).slice(0, 100);
  res.writeHead(204, [
    ...base,
    ...(req.headers.origin === undefined ? [] : corsHeaders(req.headers.origin)),
    'Access-Control-Allow-Methods',
    METHODS,
    'Access-Control-Allow-Headers',
    [...ALLOWED, ...params].join(', '),
    'Access-Control-Max-Age',
    '600',
  ]);
  res.end();
}

/** Answers a preflight for a public document: everybody may read it. */
export function answerPublicPreflight(res: ServerResponse, base: readonly string[]): void {
  res.writeHead(204, [
    ...base,
    ...PUBLIC_CORS,
    'Access-Control-Allow-Methods',
    'GET, OPTIONS',
    'Access-Control-Allow-Headers',
    'MCP-Protocol-Version, If-None-Match',
    'Access-Control-Max-Age',
    '600',
  ]);
  res.end();
}
