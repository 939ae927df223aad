import type { BlobRef, BusUser } from '@cortex/contracts';
import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node';
import type { TlsFiles } from './tls.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type Log = (level: LogLevel, message: string, fields?: Record<string, unknown>) => void;

export interface BusOptions {
  /** One or more `nats://host:port` or, with TLS, `tls://host:port`, separated by commas. */
  servers: string;
  tls?: TlsFiles;
  user?: string;
  /** A function is asked at each connection, so that one that is made again after a rotation shows the new password. */
  pass?: string | (() => string);
  /** Whose inbox prefix and subjects this connection has. */
  service: BusUser;
  /** Random token of this process; made when it is missing. */
  instance?: string;
  /**
   * True (default): without a server the connection is tried in the background for ever and `connectBus` resolves after
   * a second, `up` being false. False: it rejects with `unavailable`, which suits a command at a terminal.
   */
  waitOnFirstConnect?: boolean;
  log?: Log;
}

/** A message with its body; `data` is a view into the read buffer, so copy what you keep. */
export interface BusMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reply?: string;
  readonly headers?: MsgHdrs;
  json<T>(): T;
  string(): string;
  /** Leaves with everything else of this turn in one write. False when nobody asked for an answer. */
  respond(data: string | Uint8Array): boolean;
}

export interface PublishOptions {
  headers?: MsgHdrs;
  reply?: string;
}

export interface RequestOptions {
  timeoutMs: number;
  headers?: MsgHdrs;
  signal?: AbortSignal;
}

export interface AckedOptions {
  /** `Nats-Msg-Id`; with it the publish is tried again under the same id when an acknowledgement is lost. */
  msgId?: string;
  /** Refused with `conflict` unless this is the sequence of the subject's last message (0: there is none). */
  expectLastSubjectSeq?: number;
  headers?: Record<string, string>;
  /** All tries together; default 5000. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface PublishAck {
  stream: string;
  seq: number;
  /** The message id was there already; `seq` is the first one's. */
  duplicate: boolean;
}

/** A message as the stream holds it, by direct get. */
export interface StoredMessage {
  subject: string;
  seq: number;
  /** ISO 8601, when the server stored it. */
  time: string;
  headers?: MsgHdrs;
  data: Uint8Array;
  /**
   * It was not published here: somebody had a read of another message answered on this subject, which permissions do not
   * prevent. Nobody who may write this subject stands behind it (threat T81).
   */
  copied: boolean;
}

export interface DirectReader {
  /** The subject's last message; null when there is none. Possibly from a replica that lags. */
  last(stream: string, subject: string): Promise<StoredMessage | null>;
  /** The first message of the subject (wildcards allowed) at or after `fromSeq`; null when there is none. */
  next(stream: string, subject: string, fromSeq: number): Promise<StoredMessage | null>;
  /** The subject's last message from the stream's leader: never stale, dearer. For the retry after a conflict. */
  lastFromLeader(stream: string, subject: string): Promise<StoredMessage | null>;
  /** As `next`, from the leader. */
  nextFromLeader(stream: string, subject: string, fromSeq: number): Promise<StoredMessage | null>;
}

export interface BusSubscription {
  unsubscribe(): void;
  drain(): Promise<void>;
}

export interface KvEntry {
  key: string;
  value: Uint8Array;
  revision: number;
  json<T>(): T;
}

/** A bucket without consumers, which no service may make: direct gets and a plain subscription. */
export interface KvBucket {
  get(key: string): Promise<KvEntry | null>;
  put(key: string, value: string | Uint8Array): Promise<number>;
  /** `conflict` when the key has a value. */
  create(key: string, value: string | Uint8Array): Promise<number>;
  /** `conflict` when the key's revision is another one. */
  update(key: string, value: string | Uint8Array, revision: number): Promise<number>;
  delete(key: string): Promise<void>;
  /** All current entries below a filter such as `>` or `ticket.*`. */
  walk(filter?: string): AsyncIterable<KvEntry>;
  /**
   * Tells every entry there is, then every change (null: deleted). After a reconnect all entries are told again, and
   * those that are gone as null. Expiry by age is told by nobody. A revision is told once.
   */
  watch(filter: string, fn: (key: string, entry: KvEntry | null) => void): KvWatch;
}

export interface KvWatch {
  /** Resolves when the entries that were there at the start have been told. */
  ready: Promise<void>;
  stop(): void;
}

export interface Blobs {
  /** Stores a body below `cortex.blob.<service>.<object>.<n>`; it is dropped after a day. */
  put(data: Uint8Array): Promise<BlobRef>;
  /** `not_found` when it is gone, `internal` when the bytes are not those that were put. */
  get(ref: BlobRef): Promise<Uint8Array>;
}

export interface Bus {
  /** The connection itself; throws `unavailable` before the first connect. */
  readonly nc: NatsConnection;
  readonly service: BusUser;
  readonly instance: string;
  readonly up: boolean;
  onStatus(fn: (up: boolean) => void): () => void;
  /** Tells refusals of the server ("Permissions Violation") that concern no call that waits. */
  onError(fn: (error: Error) => void): () => void;
  /**
   * Fire and forget: queued, one write per turn. For two seconds after the connection was lost it waits for the next one; lost while the
   * bus is down for longer. Throws `too_large`.
   */
  publish(subject: string, data: string | Uint8Array, options?: PublishOptions): void;
  /**
   * Waits for a lost connection as `publish` does, within its time.
   * Errors: `unavailable` (no responder, not sent: nothing was changed; or `details.outcome = 'unknown'`),
   * `deadline_exceeded`, `cancelled`, `resource_exhausted` above 1024 waiting, `permission_denied`, `invalid_argument`.
   */
  request(subject: string, data: string | Uint8Array, options: RequestOptions): Promise<BusMessage>;
  /** Errors: `conflict` (10071), `unavailable` (10077 and the like in `details.code`), `invalid_argument` too_large. */
  publishAcked(subject: string, data: string | Uint8Array, options?: AckedOptions): Promise<PublishAck>;
  /** Kept over reconnects, and made at the first connect when there is none yet. */
  subscribe(subject: string, handler: (message: BusMessage) => void, options?: { queue?: string }): BusSubscription;
  kv(bucket: string): KvBucket;
  readonly blobs: Blobs;
  readonly direct: DirectReader;
  /** Bytes of one message, headers counted, as the server announced it. */
  readonly maxPayload: number;
  /** Calls that wait for an answer now. */
  readonly waiting: number;
  /** Takes no new messages, sends what is queued, waits for handlers' answers, closes. */
  drain(): Promise<void>;
  close(): Promise<void>;
}
