import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { inboxPrefix, unavailable, type BusUser } from '@cortex/contracts';
import {
  connect,
  errors,
  usernamePasswordAuthenticator,
  type ConnectionOptions,
  type Msg,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node';
import { blobStore } from './blobs.js';
import type {
  AckedOptions,
  Blobs,
  Bus,
  BusMessage,
  BusOptions,
  BusSubscription,
  DirectReader,
  KvBucket,
  Log,
  PublishAck,
  PublishOptions,
  RequestOptions,
} from './bus.js';
import { directReader, publishAcked } from './jetstream.js';
import { kvBucket } from './kv.js';
import { CallMux } from './mux.js';
import { tlsTo } from './tls.js';
import { unreachable } from './unreachable.js';

const FIRST_CONNECT_MS = 1000;
const DRAIN_MS = 5000;

/** Connects for as long as it takes; see `BusOptions.waitOnFirstConnect` for what happens without a server. */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const bus = new NatsBus(options);
  const connected = bus.connect();
  if (options.waitOnFirstConnect === false) {
    await connected;
    return bus;
  }
  const limit = new AbortController();
  await Promise.race([connected, sleep(FIRST_CONNECT_MS, undefined, { signal: limit.signal }).catch(() => {})]);
  limit.abort();
  return bus;
}

interface Subscribed {
  subject: string;
  queue?: string;
  handler: (message: BusMessage) => void;
  subscription?: Subscription;
}

class NatsBus implements Bus {
  readonly service: BusUser;
  readonly instance: string;
  readonly blobs: Blobs;
  readonly direct: DirectReader;
  readonly #options: BusOptions;
  readonly #log: Log;
  readonly #mux: CallMux;
  readonly #subscribed = new Set<Subscribed>();
  readonly #onStatus = new Set<(up: boolean) => void>();
  readonly #onError = new Set<(error: Error) => void>();
  readonly #stopConnecting = new AbortController();
  #nc: NatsConnection | undefined;

  constructor(options: BusOptions) {
    this.#options = options;
    this.#log = options.log ?? (() => {});
    this.service = options.service;
    this.instance = options.instance ?? randomBytes(5).toString('hex');
    this.#mux = new CallMux(options.service);
    this.blobs = blobStore(this);
    this.direct = directReader(this.#mux);
  }

  get nc(): NatsConnection {
    if (!this.#nc) throw unavailable('bus', 'is not connected yet', 'try again in a moment');
    return this.#nc;
  }

  get up(): boolean {
    return this.#mux.up;
  }

  get waiting(): number {
    return this.#mux.waiting;
  }

  get maxPayload(): number {
    return this.#mux.maxPayload;
  }

  async connect(): Promise<void> {
    const { servers, tls: files, user, pass, waitOnFirstConnect = true } = this.#options;
    const tls = tlsTo(servers, files);
    const connection: ConnectionOptions = {
      servers: servers.split(',').map((server) => server.trim()),
      ...(tls && { tls }),
      ...(user !== undefined && { authenticator: usernamePasswordAuthenticator(user, pass) }),
      name: `${this.service}.${this.instance}`,
      inboxPrefix: inboxPrefix(this.service),
      noAsyncTraces: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
      reconnectJitter: 50,
      timeout: 2000,
      // A peer that vanished without closing is noticed after half a minute instead of six. Not sooner: a server that looks through a log
      // of a million messages for what a filter lets pass answers no ping of that connection meanwhile.
      pingInterval: 10_000,
      maxPingOut: 2,
      // A server that comes back before its users are configured refuses for a while.
      ignoreAuthErrorAbort: true,
    };
    let told = '';
    for (;;) {
      try {
        const nc = await connect(connection);
        if (this.#stopConnecting.signal.aborted) await nc.close();
        else this.#attach(nc);
        return;
      } catch (error) {
        const why = unreachable(servers, error, files);
        if (!waitOnFirstConnect) {
          this.#mux.close();
          throw why;
        }
        if (why.message !== told) this.#log('warn', 'no connection to the bus yet, trying on', { error: why.message });
        told = why.message;
        await sleep(50 + Math.random() * 50, undefined, { signal: this.#stopConnecting.signal }).catch(() => {});
        if (this.#stopConnecting.signal.aborted) return;
      }
    }
  }

  #attach(nc: NatsConnection): void {
    this.#nc = nc;
    this.#mux.attach(nc);
    for (const subscribed of this.#subscribed) this.#make(nc, subscribed);
    void this.#follow(nc);
    this.#tell(true);
  }

  async #follow(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') {
        this.#mux.disconnected();
        this.#log('warn', 'the bus went away, reconnecting');
        this.#tell(false);
      } else if (status.type === 'reconnect') {
        this.#mux.connected();
        this.#log('info', 'the bus is back');
        this.#tell(true);
      } else if (status.type === 'error') {
        this.#refusal(status.error);
      } else if (status.type === 'close') {
        this.#mux.close();
        this.#tell(false);
      }
    }
  }

  /** A refused publish answers no inbox: without this its caller would wait for the whole timeout. */
  #refusal(error: Error): void {
    const isPublish = error instanceof errors.PermissionViolationError && error.operation === 'publish';
    if (isPublish && this.#mux.refused(error.subject)) return;
    this.#log('error', 'the bus refused something', { error: error.message });
    for (const fn of this.#onError) fn(error);
  }

  #tell(up: boolean): void {
    for (const fn of this.#onStatus) fn(up);
  }

  onStatus(fn: (up: boolean) => void): () => void {
    this.#onStatus.add(fn);
    return () => this.#onStatus.delete(fn);
  }

  onError(fn: (error: Error) => void): () => void {
    this.#onError.add(fn);
    return () => this.#onError.delete(fn);
  }

  publish(subject: string, data: string | Uint8Array, options?: PublishOptions): void {
    this.#mux.publish(subject, data, options);
  }

  async request(subject: string, data: string | Uint8Array, options: RequestOptions): Promise<BusMessage> {
    return new Message(await this.#mux.request(subject, data, options), this.#mux);
  }

  publishAcked(subject: string, data: string | Uint8Array, options?: AckedOptions): Promise<PublishAck> {
    return publishAcked(this.#mux, subject, data, options);
  }

  subscribe(
    subject: string,
    handler: (message: BusMessage) => void,
    options: { queue?: string } = {},
  ): BusSubscription {
    const subscribed: Subscribed = { subject, handler, ...options };
    this.#subscribed.add(subscribed);
    if (this.#nc) this.#make(this.#nc, subscribed);
    return {
      unsubscribe: () => {
        this.#subscribed.delete(subscribed);
        subscribed.subscription?.unsubscribe();
      },
      drain: async () => {
        this.#subscribed.delete(subscribed);
        await this.#drainOne(subscribed);
      },
    };
  }

  #make(nc: NatsConnection, subscribed: Subscribed): void {
    const { subject, queue, handler } = subscribed;
    const isInbox = subject.startsWith(`${inboxPrefix(this.service)}.`);
    subscribed.subscription = nc.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback: (error, message) => {
        if (error) return; // refused: `status` has told
        // Permissions do not bind the subject that a read of the log is answered on: so anybody could put what lies in a
        // stream on this one (threat T81). What a pull delivers to an inbox is for its reader to judge.
        if (!isInbox && message.headers?.has('Nats-Stream')) return;
        try {
          handler(new Message(message, this.#mux));
        } catch (cause) {
          // Thrown into the client it would stop its parser, and with it the whole connection.
          this.#log('error', 'a handler threw', { subject: message.subject, error: String(cause) });
        }
      },
    });
  }

  async #drainOne({ subscription }: Subscribed): Promise<void> {
    if (!subscription || subscription.isClosed() || subscription.isDraining()) return;
    // A drain waits for the server's pong, which does not come while the bus is away.
    if (this.up) await subscription.drain().catch(() => {});
    else subscription.unsubscribe();
  }

  kv(bucket: string): KvBucket {
    return kvBucket(this, bucket);
  }

  async drain(): Promise<void> {
    this.#stopConnecting.abort();
    await Promise.all([...this.#subscribed].map((subscribed) => this.#drainOne(subscribed)));
    this.#subscribed.clear();
    const until = performance.now() + DRAIN_MS;
    while (this.up && this.waiting > 0 && performance.now() < until) await sleep(10);
    this.#mux.flush();
    if (this.up) await Promise.race([this.#nc?.flush().catch(() => {}), sleep(DRAIN_MS, undefined, { ref: false })]);
    await this.close();
  }

  async close(): Promise<void> {
    this.#stopConnecting.abort();
    this.#mux.close();
    await this.#nc?.close();
  }
}

/** Decodes lazily and answers through the queue, so that all answers of a turn leave in one write. */
class Message implements BusMessage {
  readonly #message: Msg;
  readonly #mux: CallMux;
  readonly subject: string;
  readonly data: Uint8Array;

  constructor(message: Msg, mux: CallMux) {
    this.#message = message;
    this.#mux = mux;
    this.subject = message.subject;
    this.data = message.data;
  }

  get reply(): string | undefined {
    return this.#message.reply || undefined;
  }

  get headers() {
    return this.#message.headers;
  }

  string(): string {
    return Buffer.from(this.data.buffer, this.data.byteOffset, this.data.byteLength).toString();
  }

  json<T>(): T {
    return JSON.parse(this.string()) as T;
  }

  respond(data: string | Uint8Array): boolean {
    const { reply } = this;
    if (reply === undefined) return false;
    this.#mux.publish(reply, data);
    return true;
  }
}
