import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { securityHeaders } from '../http/headers.js';
import type { Answer, HttpExchange, HttpFront, HttpRefusal } from '../seams.js';
import type { Settings } from '../settings.js';
import type { RpcId } from './envelope.js';

type Target = Pick<HttpExchange, 'req' | 'res'>;

/** Above this a result is written as its own bytes; below, one string costs less than three writes. */
const SPLICE_AS_TEXT = 4 * 1024;

/**
 * The only writer of bytes on the MCP routes: a hijacked reply carries nothing that hooks set, so security and CORS headers are added here
 * and nowhere else.
 */
export class Answers implements Answer {
  readonly #base: readonly string[];

  constructor(
    settings: Pick<Settings, 'canonicalUri'>,
    private readonly front: Pick<HttpFront, 'corsHeaders'>,
  ) {
    this.#base = securityHeaders(settings);
  }

  json(target: Target, status: number, body: string | Buffer, headers?: Record<string, string>): void {
    this.#whole(target, status, 'application/json', body, headers);
  }

  text(target: Target, status: number, body: string): void {
    this.#whole(target, status, 'text/plain', body, undefined);
  }

  rpcError(
    target: Target,
    status: number,
    id: RpcId | undefined,
    error: { code: number; message: string; data?: unknown },
    headers?: Record<string, string>,
  ): void {
    this.json(target, status, rpcErrorText(id, error), headers);
  }

  rpcResult({ req, res }: Target, id: RpcId, result: Buffer, headers?: Record<string, string>): void {
    this.spliced({ req, res }, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`, result, '}', headers);
  }

  /** 200 with `head`, `middle` and `tail` as one body, the middle never copied where it is large. */
  spliced(
    { req, res }: Target,
    head: string,
    middle: Uint8Array,
    tail: string,
    headers?: Record<string, string>,
  ): void {
    if (!writable(res)) return;
    const fields = this.#head({ req, res }, headers);
    if (middle.length <= SPLICE_AS_TEXT) {
      // One character a byte: no byte is looked at, and the answer leaves together with its head in one write.
      const body = bytesAsText(head) + asBuffer(middle).toString('latin1') + bytesAsText(tail);
      fields.push('Content-Type', 'application/json', 'Content-Length', String(body.length));
      res.writeHead(200, fields as unknown as OutgoingHttpHeaders);
      res.end(body, 'latin1');
      return;
    }
    const length = Buffer.byteLength(head) + middle.length + Buffer.byteLength(tail);
    fields.push('Content-Type', 'application/json', 'Content-Length', String(length));
    res.writeHead(200, fields as unknown as OutgoingHttpHeaders);
    res.cork();
    res.write(head);
    res.write(middle);
    res.end(tail);
    res.uncork();
  }

  empty({ req, res }: Target, status: number, headers?: Record<string, string>): void {
    if (!writable(res)) return;
    const head = this.#head({ req, res }, headers);
    if (status !== 204 && status !== 304) head.push('Content-Length', '0');
    res.writeHead(status, head as unknown as OutgoingHttpHeaders);
    res.end();
  }

  refuse(target: Target, refusal: HttpRefusal): void {
    this.json(target, refusal.status, refusal.body, refusal.headers);
  }

  openStream({ req, res }: Target, headers?: Record<string, string>): void {
    if (!writable(res)) return;
    const head = this.#head({ req, res }, headers);
    head.push(
      'Content-Type',
      'text/event-stream',
      'Cache-Control',
      'no-cache, no-transform',
      'X-Accel-Buffering',
      'no',
    );
    res.writeHead(200, head as unknown as OutgoingHttpHeaders);
    res.flushHeaders();
  }

  #whole(
    { req, res }: Target,
    status: number,
    type: string,
    body: string | Buffer,
    headers: Record<string, string> | undefined,
  ): void {
    if (!writable(res)) return;
    const head = this.#head({ req, res }, headers);
    const length = Buffer.byteLength(body);
    head.push('Content-Type', type, 'Content-Length', String(length));
    res.writeHead(status, head as unknown as OutgoingHttpHeaders);
    // Nearly every text has one byte for each character: it is then written as it lies in memory.
    res.end(body, length === body.length ? 'latin1' : 'utf8');
  }

  #head({ req }: Target, headers: Record<string, string> | undefined): string[] {
    const head = this.#base.slice();
    if (req.headers.origin !== undefined) head.push(...this.front.corsHeaders(req));
    if (headers !== undefined) for (const name in headers) head.push(name, headers[name] ?? '');
    return head;
  }
}

/** The caller may be gone, or a stream may have begun: then there is nobody to tell. */
const writable = (res: ServerResponse): boolean => !res.headersSent && !res.destroyed;

/** The UTF-8 bytes of a text as one character each; nearly every text is that already. */
const bytesAsText = (text: string): string =>
  Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export function rpcErrorText(id: RpcId | undefined, error: { code: number; message: string; data?: unknown }): string {
  const { code, message, data } = error;
  return JSON.stringify({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    error: { code, message, ...(data !== undefined && { data }) },
  });
}
