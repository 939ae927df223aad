/** The one call that every target answers: an echo of 1 KiB in the modern revision, as JSON. */
const TEXT_BYTES = 1024;
export const TOOL = 'bench_echo';
export const PATH = '/mcp';
/** Where a backend is asked unless it says otherwise. */
const CONTRACT_PATH = '/api/cortex/backend';
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

export interface WireRequest {
  head: string;
  body: string;
  /** Where the digits of the id begin in `body`. */
  idAt: number;
}

/** A request and the text that a whole answer holds. */
export interface Exchange {
  request: WireRequest;
  expect: string;
  /** The answer is no JSON-RPC: its text alone is compared. */
  plain?: true;
}

export interface Door {
  port: number;
  token?: string;
}

const FIRST_ID = '1'.padEnd(ID_DIGITS, '0');

function wire({ port, token }: Door, method: string, params: Record<string, unknown>, headers: string[]): WireRequest {
  const body = JSON.stringify({ jsonrpc: '2.0', id: Number(FIRST_ID), method, params: { ...params, _meta: META } });
  const head = [
    `POST ${PATH} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `MCP-Protocol-Version: ${REVISION}`,
    `Mcp-Method: ${method}`,
    ...headers,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return { head: `${head.join('\r\n')}\r\n\r\n`, body, idAt: body.indexOf(FIRST_ID) };
}

/** The same echo as a backend is asked for it; what is counted up stands where a backend of this level does not look. */
export function contractCallOf(port: number): Exchange {
  const text = textOf(TEXT_BYTES);
  const body = JSON.stringify({ method: 'echo', params: { text }, context: { requestId: FIRST_ID } });
  const head = [
    `POST ${CONTRACT_PATH} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return {
    request: { head: `${head.join('\r\n')}\r\n\r\n`, body, idAt: body.indexOf(FIRST_ID) },
    expect: text,
    plain: true,
  };
}

/** Any tool call. */
export const toolCall = (door: Door, name: string, args: object): WireRequest =>
  wire(door, 'tools/call', { name, arguments: args }, [`Mcp-Name: ${name}`]);

/** An echo; `times` over, which only the echo service knows. */
export function callOf(door: Door, times?: number): Exchange {
  const text = textOf(TEXT_BYTES);
  return { request: toolCall(door, TOOL, { text, times }), expect: text.repeat(times ?? 1) };
}

export const listOf = (door: Door): Exchange => ({ request: wire(door, 'tools/list', {}, []), expect: `"${TOOL}"` });

/** The result of the echo as its owner writes it: text block and structured content. */
export function echoResult(text: string): string {
  const structured = JSON.stringify({ text });
  return `"content":[{"type":"text","text":${JSON.stringify(structured)}}],"structuredContent":${structured}`;
}
