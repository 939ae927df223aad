import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { securityHeaders } from './headers.js';

const BROKEN: Readonly<Record<string, readonly [number, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout'],
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'too_large'],
};
const MALFORMED = [400, 'malformed_request'] as const;

/** Whole answer to what is no request yet: the parser gave up on it, or its client was too slow. There is no exchange to answer on. */
export function brokenAnswer(code: string | undefined): string {
  const [status, error] = BROKEN[code ?? ''] ?? MALFORMED;
  const body = JSON.stringify({ error });
  const headers = securityHeaders({ canonicalUri: '' });
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${headers[i + 1]}`] : []));
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...lines,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

/** For the server's `clientError`. */
export function answerBroken(error: NodeJS.ErrnoException, socket: Duplex & { bytesWritten?: number }): void {
  // After what was written before, an answer could stand in the middle of another one.
  const silent = error.code === 'ECONNRESET' || !socket.writable || (socket.bytesWritten ?? 0) > 0;
  if (silent) socket.destroy();
  else socket.end(brokenAnswer(error.code), () => socket.destroy());
}
