import { hash } from 'node:crypto';
import { LIST_KINDS, type ListKind } from '../federation/types.js';
import { HttpRefusal, type CallerContext, type EdgeCore, type HttpExchange, type LegacyRevision } from '../seams.js';
import type { Connections } from './connections.js';
import type { SessionStream } from './session-stream.js';
import type { EventStream, Streams } from './streams.js';

/** A service that comes up announces once, several come up together: one notification tells of all. */
const GATHER_MS = 100;
/** How long a stream without a connection is kept up for a client that comes back: as long as its events are kept. */
const AWAY_MS = 600_000;
/** Streams without a connection; the one that is without the longest goes. */
const MAX_AWAY = 1024;
const changed = (list: ListKind): string => `{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`;

interface Listener {
  connection: EventStream;
  caller: CallerContext;
  revision: () => LegacyRevision;
  /** What this caller saw of each list when it was last told. */
  seen: Record<ListKind, string>;
  /** URIs of which its session is told changes. */
  subscriptions: readonly string[];
  /** That of a session, which its client may come back to; others end with their connection. */
  stream?: SessionStream;
  /** Milliseconds when a stream is given up that has no connection. */
  awayUntil?: number;
}

export interface Listening {
  /** The newest stream under a key takes the place of the one before, so nobody is locked out by a ghost of his own. */
  key: string;
  kind: 'get' | 'sse';
  revision: () => LegacyRevision;
  subscriptions?: readonly string[];
  stream?: SessionStream;
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
    private readonly connections: Connections,
    streams: Streams,
    /** Called for a stream of a session that is told nothing more. */
    private readonly over: (stream: SessionStream) => void,
  ) {
    const gather = (): void => {
      this.#gathering ??= setTimeout(() => this.#tell(), GATHER_MS).unref();
    };
    const stops = [
      core.catalog.onChange(gather),
      core.offers.onChange(gather),
      core.offers.onResourceUpdated((uri) => this.#updated(uri)),
      streams.onTick(() => this.#giveUp()),
    ];
    this.#stopWatching = () => stops.forEach((stop) => stop());
  }

  /** The connection, on which nothing was written yet. */
  open(
    exchange: HttpExchange,
    { key, kind, revision, subscriptions = [], stream }: Listening,
  ): EventStream | HttpRefusal {
    const { caller } = exchange;
    const before = this.#listeners.get(key);
    const connection = this.connections.open(exchange, kind, before?.connection);
    if (connection instanceof HttpRefusal) return connection;
    const same = stream !== undefined && before?.stream === stream;
    // Who comes back is told what changed since it was last told something, not since it came back.
    const seen = same ? before.seen : this.#view(caller, revision());
    const listener: Listener = { connection, caller, revision, seen, subscriptions, ...(stream && { stream }) };
    this.#listeners.delete(key);
    this.#listeners.set(key, listener);
    before?.connection.end();
    if (before?.stream && !same) this.over(before.stream);
    connection.onClose(() => this.#left(key, listener));
    return connection;
  }

  /** The stream of this key, also while it has no connection. */
  streamOf(key: string): SessionStream | undefined {
    return this.#listeners.get(key)?.stream;
  }

  /** From now on the stream under this key is told changes of these. */
  subscribe(key: string, uris: readonly string[]): void {
    const listener = this.#listeners.get(key);
    if (listener) listener.subscriptions = uris;
  }

  end(key: string): void {
    const listener = this.#listeners.get(key);
    if (!listener) return;
    this.#drop(key, listener);
    listener.connection.end();
  }

  /** Ends every stream but those that still owe an answer, and says how many these are. Nothing opens afterwards. */
  close(busy: (key: string) => boolean): number {
    this.#closed = true;
    this.#stopWatching();
    clearTimeout(this.#gathering);
    let left = 0;
    for (const [key, { connection }] of this.#listeners) {
      if (busy(key)) left++;
      else connection.end();
    }
    return left;
  }

  #left(key: string, listener: Listener): void {
    if (this.#listeners.get(key) !== listener) return;
    const now = Date.now();
    const until = Math.min(now + AWAY_MS, this.connections.endOf(listener.caller));
    if (this.#closed || listener.stream === undefined || until <= now || listener.connection.expiresAt <= now)
      return this.#drop(key, listener);
    listener.awayUntil = until;
    let away = 0;
    for (const [, { awayUntil }] of this.#listeners) if (awayUntil !== undefined) away++;
    if (away <= MAX_AWAY) return;
    for (const [first, other] of this.#listeners) if (other.awayUntil !== undefined) return this.#drop(first, other);
  }

  #giveUp(): void {
    const now = Date.now();
    for (const [key, listener] of this.#listeners)
      if ((listener.awayUntil ?? Infinity) <= now) this.#drop(key, listener);
  }

  #drop(key: string, listener: Listener): void {
    this.#listeners.delete(key);
    if (listener.stream) this.over(listener.stream);
  }

  #tell(): void {
    this.#gathering = undefined;
    for (const listener of this.#listeners.values()) {
      const seen = this.#view(listener.caller, listener.revision());
      for (const list of LIST_KINDS) if (seen[list] !== listener.seen[list]) send(listener, changed(list));
      listener.seen = seen;
    }
  }

  #updated(uri: string): void {
    const message = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
    for (const listener of this.#listeners.values())
      if (listener.subscriptions.includes(uri) && this.core.methods.knows(uri, listener.caller))
        send(listener, message);
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

const send = ({ stream, connection }: Listener, message: string): void =>
  stream ? stream.send(message) : connection.send('message', message);
