/** The one call that every target answers: an echo of 1 KiB in the modern revision, as JSON. */
export const TEXT_BYTES = 1024;
export const TOOL = 'bench_echo';
export const PATH = '/mcp';
const REVISION = '2026-07-28';

/** Digits of the JSON-RPC id: always as many, so that the load program writes them over the last ones in place. */
export const ID_DIGITS = 10;

export const textOf = (bytes: number): string =>
  'The quick brown fox jumps over the lazy dog. '.repeat(Math.ceil(bytes / 45)).slice(0, bytes);

const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'cortex-bench', version: '1.0.0' },
};

/** A `tools/list` for `fetch`. */
export const listRequest = (token: string): { headers: Record<string, string>; body: string } => ({
  headers: {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': REVISION,
    'mcp-method': 'tools/list',
  },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } }),
});

export interface WireRequest {
  head: string;
  body: string;
  /** Where the digits of the id begin in `body`. */
  idAt: number;
}

export interface CallOptions {
  port: number;
  text: string;
  token?: string;
  /** How many times over the text comes back; the floors know only once. */
  times?: number;
  /** More header lines. */
  headers?: readonly string[];
}

/** A `tools/call` with its headers, ready to be written to a socket. */
export function callRequest({ port, text, token, times, headers = [] }: CallOptions): WireRequest {
  const id = '1'.padEnd(ID_DIGITS, '0');
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: Number(id),
    method: 'tools/call',
    params: {
      name: TOOL,
      arguments: { text, times },
      _meta: META,
    },
  });
  const head = [
    `POST ${PATH} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `MCP-Protocol-Version: ${REVISION}`,
    'Mcp-Method: tools/call',
    `Mcp-Name: ${TOOL}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return { head: `${head.join('\r\n')}\r\n\r\n`, body, idAt: body.indexOf(id) };
}

/** The result of the echo as its owner writes it: text block and structured content. */
export function echoResult(text: string): string {
  const structured = JSON.stringify({ text });
  return `"content":[{"type":"text","text":${JSON.stringify(structured)}}],"structuredContent":${structured}`;
}
