import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '@cortex/contracts/is-object';
import { type Dispatcher, errors } from 'undici';
import type { Deadlines, Timed } from './deadlines.js';
import { compact, membersOf } from './json-text.js';
import { Lines } from './lines.js';
import { type BackendAnswer, type CallEvents, LIST_KINDS, type ListKind } from './types.js';

export interface ExchangeOptions {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly maxStreamMs: number;
  readonly deadlines: Deadlines;
  readonly events: CallEvents | undefined;
  /** The token that was sent: a backend that repeats it in an error does not get it through. */
  readonly secret: string | undefined;
  /** The answer (once), and which lists the backend says have changed with it. */
  readonly settled: (answer: BackendAnswer, changed: readonly ListKind[]) => void;
  readonly listChanged: (kinds: readonly ListKind[]) => void;
  readonly resourceUpdated: (uri: string) => void;
}

const ENDED = new Error('nobody waits for this answer any more');
/** What a stream gets, once its last line has come, to end by itself so that the connection can be kept. */
const LEAVE_MS = 1_000;
/** Lines of a stream after which everybody else has a turn; what of one piece is left comes first. */
const LINES_AT_ONCE = 1_000;
const LEVELS = new Set(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']);
const utf8 = new TextDecoder('utf-8', { fatal: true });

type Json = Record<string, unknown>;

/** One request on its way: reads what comes back, bounded in bytes and in time. It is a handler of undici and settles exactly once. */
export class Exchange implements Dispatcher.DispatchHandler, Timed {
  deadline: number;
  slot = -1;
  readonly #hardDeadline: number;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #status = 0;
  #native = false;
  #changed: readonly ListKind[] = [];
  #lines: Lines | undefined;
  #chunks: Uint8Array[] = [];
  #size = 0;
  #progress = -Infinity;
  /** Lines since others were last let in. */
  #unpaused = 0;

  constructor(private readonly options: ExchangeOptions) {
    const now = performance.now();
    this.deadline = now + options.timeoutMs;
    this.#hardDeadline = now + options.maxStreamMs;
    options.deadlines.add(this);
  }

  abort(): void {
    this.#end({ kind: 'cancelled' });
  }

  overdue(): void {
    const { timeoutMs, maxStreamMs } = this.options;
    const whole = this.#lines !== undefined && this.deadline === this.#hardDeadline;
    this.#end({ kind: 'timeout', afterMs: whole ? maxStreamMs : timeoutMs });
    this.#leave();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(ENDED);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    const encoding = headers['content-encoding'] ?? 'identity';
    // We ask for none: a body that has to be unpacked has no size that could be known before.
    if (encoding.toLowerCase() !== 'identity') return this.#invalid(`its body is packed (${encoding.slice(0, 32)})`);
    if (Number(headers['content-length'] ?? 0) > this.options.maxBytes) return this.#tooLarge();
    if ((status > 200 && status < 400) || status > 599) return this.#invalid(`it answered with status ${status}`);
    this.#native = headers['x-cortex-result'] === 'mcp';
    this.#changed = kindsOf(String(headers['x-cortex-list-changed'] ?? '').split(/[\s,]+/));
    if (status === 200 && /^application\/x-ndjson\b/i.test(headers['content-type'] ?? '')) this.#lines = new Lines();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    this.#size += chunk.length;
    if (this.#size > this.options.maxBytes) return this.#tooLarge();
    if (this.#lines === undefined) {
      this.#chunks.push(chunk);
      return;
    }
    for (const line of this.#lines.push(chunk)) {
      if (this.#settled) return;
      this.#line(line);
      this.#unpaused++;
    }
    if (this.#unpaused < LINES_AT_ONCE || this.#settled) return;
    this.#unpaused = 0;
    controller.pause();
    setImmediate(() => controller.resume());
  }

  onResponseEnd(): void {
    if (!this.#settled && this.#lines !== undefined) {
      this.#line(this.#lines.rest());
      if (!this.#settled) this.#invalid('its stream ended without a result');
    } else if (!this.#settled) this.#body();
    this.options.deadlines.delete(this);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.failed(error);
  }

  /** The connection was not made, or broke. */
  failed(error: Error): void {
    const { code = '' } = error as { code?: string };
    if (error instanceof errors.HTTPParserError || code.startsWith('UND_ERR_RES'))
      this.#invalid('its answer is no HTTP');
    else if (code.startsWith('UND_ERR_HEADERS_OVERFLOW')) this.#invalid('its headers are too large');
    // Without a controller not a byte has left.
    else this.#end({ kind: 'away', sent: this.#controller !== undefined, retryAfterMs: 0 });
    this.options.deadlines.delete(this);
  }

  #body(): void {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    const parsed = parse(bytes, this.#status === 200 ? undefined : this.options.secret);
    if (this.#status !== 200) return this.#refused(this.#status, parsed?.value);
    if (parsed === undefined) return this.#invalid('its body is no JSON');
    this.#end({ kind: 'result', native: this.#native, text: compact(parsed.text), value: parsed.value });
  }

  #line(bytes: Uint8Array): void {
    if (isBlank(bytes)) return;
    const parsed = parse(bytes, undefined);
    if (parsed === undefined || !isObject(parsed.value)) return this.#invalid('a line of its stream is no JSON object');
    const { value } = parsed;
    this.deadline = Math.min(performance.now() + this.options.timeoutMs, this.#hardDeadline);
    const { events, secret } = this.options;
    switch (value['type']) {
      case 'progress':
        return this.#progressed(value);
      case 'log':
        if (!LEVELS.has(String(value['level'])) || value['data'] === undefined) return undefined;
        return events?.log?.({
          level: String(value['level']),
          ...(typeof value['logger'] === 'string' && { logger: value['logger'] }),
          data: value['data'],
        });
      case 'list_changed':
        return this.options.listChanged(kindsOf(value['kinds']));
      case 'resource_updated':
        return typeof value['uri'] === 'string' ? this.options.resourceUpdated(value['uri']) : undefined;
      case 'close_stream':
        return events?.closeStream?.();
      case 'result': {
        const text = membersOf(compact(parsed.text)).get('result');
        if (text === undefined) return this.#invalid('its result line holds none');
        return this.#last({ kind: 'result', native: value['native'] === true, text, value: value['result'] });
      }
      case 'error': {
        const status = Number(value['status']);
        if (!Number.isInteger(status) || status < 400 || status > 599)
          return this.#invalid('its error line holds no status from 400 to 599');
        return this.#refused(status, parse(bytes, secret)?.value);
      }
      default:
        // A later contract may have more of them.
        return undefined;
    }
  }

  #progressed({ progress, total, message }: Json): void {
    // The protocol wants it to rise.
    if (typeof progress !== 'number' || progress <= this.#progress) return;
    this.#progress = progress;
    this.options.events?.progress?.({
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message }),
    });
  }

  #refused(status: number, body: unknown): void {
    const text = (name: string): string | undefined => {
      const value = isObject(body) ? body[name] : undefined;
      return typeof value === 'string' && value !== '' ? value : undefined;
    };
    this.#last({ kind: 'refused', status, error: text('error'), required: text('required'), body });
  }

  /** The answer is there, and the rest of the stream is not waited for. */
  #last(answer: BackendAnswer): void {
    this.#end(answer);
    if (this.#lines === undefined) return;
    this.deadline = performance.now() + LEAVE_MS;
    this.options.deadlines.add(this);
  }

  #tooLarge(): void {
    this.#invalid(`it has more than ${this.options.maxBytes} bytes`);
  }

  #invalid(why: string): void {
    this.#end({ kind: 'invalid', why });
    this.#leave();
  }

  #end(answer: BackendAnswer): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#chunks = [];
    this.options.deadlines.delete(this);
    this.options.settled(answer, this.#changed);
    if (answer.kind === 'cancelled') this.#leave();
  }

  /** Closes the connection: what may still come on it is nobody's. */
  #leave(): void {
    this.options.deadlines.delete(this);
    if (this.#controller?.aborted === false) this.#controller.abort(ENDED);
  }
}

function parse(bytes: Uint8Array, secret: string | undefined): { text: string; value: unknown } | undefined {
  try {
    let text = utf8.decode(bytes);
    if (secret !== undefined && text.includes(secret)) text = text.replaceAll(secret, '[redacted:token]');
    return { text, value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 32 || byte === 13 || byte === 9);

export const kindsOf = (value: unknown): ListKind[] =>
  Array.isArray(value) ? LIST_KINDS.filter((kind) => value.includes(kind)) : [];
