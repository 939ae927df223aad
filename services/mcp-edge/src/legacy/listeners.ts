import { hash } from 'node:crypto';
import { HttpRefusal, type CallerContext, type EdgeCore, type HttpExchange, type LegacyRevision } from '../seams.js';
import { LIST_KINDS, type ListKind } from '../federation/types.js';
import type { EdgeMetrics } from '../metrics.js';
import { EventStream, type Streams } from './streams.js';

const MAX_STREAMS = 1024;
const MAX_PER_CALLER = 100;
/** A service that comes up announces once, several come up together: one notification tells of all. */
const GATHER_MS = 100;
const changed = (list: ListKind): string => `{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`;

/** What of the edge's metrics this layer moves. */
export type LegacyMetrics = Pick<EdgeMetrics, 'sessions' | 'streams'>;

interface Listener {
  stream: EventStream;
  caller: CallerContext;
  revision: () => LegacyRevision;
  /** What this caller saw of each list when it was last told. */
  seen: Record<ListKind, string>;
  /** URIs of which its session is told changes. */
  subscriptions: readonly string[];
}

/**
 * Streams that wait for notifications: GET streams and HTTP+SSE. A change is told only to callers whose own list it
 * changes. Source: gateway, sections 9.1 and 9.3.
 */
export class Listeners {
  readonly #listeners = new Map<string, Listener>();
  readonly #digests = new WeakMap<Buffer, string>();
  readonly #stopWatching: () => void;
  #gathering: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    private readonly core: EdgeCore,
    private readonly streams: Streams,
    private readonly metrics: LegacyMetrics,
    private readonly skewSeconds: number,
  ) {
    const gather = (): void => {
      this.#gathering ??= setTimeout(() => this.#tell(), GATHER_MS).unref();
    };
    const stops = [
      core.catalog.onChange(gather),
      core.offers.onChange(gather),
      core.offers.onResourceUpdated((uri) => this.#updated(uri)),
    ];
    this.#stopWatching = () => stops.forEach((stop) => stop());
  }

  /** Opens a stream under a key; the newest one takes the key, so nobody is locked out by a ghost of his own. */
  open(
    exchange: HttpExchange,
    key: string,
    kind: 'get' | 'sse',
    revision: () => LegacyRevision,
    subscriptions: readonly string[] = [],
  ): EventStream | HttpRefusal {
    const { caller, res } = exchange;
    if (this.#closed) return new HttpRefusal(503, '{"error":"shutting_down"}', { 'Retry-After': '1' });
    if (!this.#listeners.has(key) && this.#full(caller)) return TOO_MANY;
    // A stream's connection ends with it: kept alive it would keep the listener from closing at a stop.
    this.core.answer.openStream(exchange, { Connection: 'close' });
    const stream = new EventStream(res, this.#endOf(caller));
    const listener: Listener = { stream, caller, revision, seen: this.#view(caller, revision()), subscriptions };
    const before = this.#listeners.get(key);
    this.#listeners.set(key, listener);
    before?.stream.end();
    this.streams.add(stream);
    this.metrics.streams.inc({ kind });
    stream.onClose(() => {
      this.metrics.streams.dec({ kind });
      if (this.#listeners.get(key) === listener) this.#listeners.delete(key);
    });
    return stream;
  }

  /** From now on the stream under this key is told changes of these. */
  subscribe(key: string, uris: readonly string[]): void {
    const listener = this.#listeners.get(key);
    if (listener) listener.subscriptions = uris;
  }

  end(key: string): void {
    this.#listeners.get(key)?.stream.end();
  }

  /** Ends every stream but those that still owe an answer, and says how many these are. Nothing opens afterwards. */
  close(busy: (key: string) => boolean): number {
    this.#closed = true;
    this.#stopWatching();
    clearTimeout(this.#gathering);
    let left = 0;
    for (const [key, { stream }] of this.#listeners) {
      if (busy(key)) left++;
      else stream.end();
    }
    return left;
  }

  #full(caller: CallerContext): boolean {
    if (this.#listeners.size >= MAX_STREAMS) return true;
    let own = 0;
    for (const other of this.#listeners.values()) if (other.caller.caller_key === caller.caller_key) own++;
    return own >= MAX_PER_CALLER;
  }

  /** Milliseconds: the token's end, or that of the clock skew for a token that lives on it already. */
  #endOf({ exp }: CallerContext): number {
    return exp * 1000 > Date.now() ? exp * 1000 : (exp + this.skewSeconds) * 1000;
  }

  #tell(): void {
    this.#gathering = undefined;
    for (const listener of this.#listeners.values()) {
      const seen = this.#view(listener.caller, listener.revision());
      for (const list of LIST_KINDS)
        if (seen[list] !== listener.seen[list]) listener.stream.send('message', changed(list));
      listener.seen = seen;
    }
  }

  #updated(uri: string): void {
    const message = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
    for (const { subscriptions, caller, stream } of this.#listeners.values())
      if (subscriptions.includes(uri) && this.core.methods.knows(uri, caller)) stream.send('message', message);
  }

  #view(caller: CallerContext, revision: LegacyRevision): Record<ListKind, string> {
    const { methods } = this.core;
    return {
      tools: this.#tools(caller, revision),
      prompts: methods.view('prompts', caller),
      resources: methods.view('resources', caller),
    };
  }

  /** Lists are prepared once per set of rights, so their bytes are hashed once per set too. */
  #tools(caller: CallerContext, revision: LegacyRevision): string {
    const list = this.core.listTools(caller, revision);
    let digest = this.#digests.get(list);
    if (digest === undefined) this.#digests.set(list, (digest = hash('sha256', list, 'base64')));
    return digest;
  }
}

const TOO_MANY = new HttpRefusal(429, '{"jsonrpc":"2.0","error":{"code":429,"message":"Too many open streams"}}', {
  'Retry-After': '60',
});
