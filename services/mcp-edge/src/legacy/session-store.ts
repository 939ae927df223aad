import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, KvBucket, KvEntry } from '@cortex/bus';
import { BUCKETS, isCortexError } from '@cortex/contracts';
import type { CallerContext, LegacyRevision } from '../seams.js';
import type { Json } from './message.js';

/** A protocol session. It holds no rights: each request is authorised by its own token. Source: gateway, section 5.1. */
export interface SessionRecord {
  id: string;
  caller_hash: string;
  protocol_version: LegacyRevision;
  client_capabilities: Json;
  client_info: Json;
  /** Which capabilities its client was told. */
  offered: string;
  log_level?: string;
  /** URIs of which the client wants to be told changes. */
  subscriptions?: readonly string[];
  /** ISO 8601. */
  created_at: string;
}

const LIFE_MS = BUCKETS.mcpSessions.ttl_s * 1000;
const MAX_PER_CALLER = 100;
/** Of one session; the oldest goes. */
export const MAX_SUBSCRIPTIONS = 100;
const RECORD_LIMIT = 32 * 1024;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ATTEMPTS = 8;

/** Ids of a caller's sessions, oldest first. */
type Index = { id: string; created_at: string }[];

/**
 * Sessions in the key-value store, so that any replica serves any request. The key begins with the caller's hash: another
 * caller's session is looked for where it is not, and answers exactly as one that never was.
 */
export class SessionStore {
  readonly #kv: KvBucket;
  readonly #indexing = new Map<string, Promise<void>>();

  constructor(
    private readonly bus: Bus,
    /** What is offered now. A session that was told something else is over: its client has to hear of it in a new handshake. */
    private readonly offered: string,
    private readonly now: () => number = Date.now,
  ) {
    this.#kv = bus.kv(BUCKETS.mcpSessions.name);
  }

  /** Null when what the client says of itself is too large to be kept. */
  async create(
    caller: CallerContext,
    said: Pick<SessionRecord, 'protocol_version' | 'client_capabilities' | 'client_info'>,
  ): Promise<SessionRecord | null> {
    const created_at = new Date(this.now()).toISOString();
    const { caller_hash } = caller;
    const record: SessionRecord = { id: randomUUID(), caller_hash, ...said, offered: this.offered, created_at };
    const text = JSON.stringify(record);
    if (Buffer.byteLength(text) > RECORD_LIMIT) return null;
    await this.#kv.create(keyOf(caller, record.id), text);
    await this.#changeIndex(caller, (index) => [...index, { id: record.id, created_at }]);
    return record;
  }

  /** Null for an id that is unknown, expired, another caller's, or of a session whose client was told of other capabilities. */
  async get(caller: CallerContext, id: string): Promise<SessionRecord | null> {
    return (await this.#read(caller, id))?.record ?? null;
  }

  async setLogLevel(caller: CallerContext, id: string, log_level: string): Promise<void> {
    await this.#change(caller, id, (record) => ({ ...record, log_level }));
  }

  /** The URIs of the session afterwards. */
  async subscribe(caller: CallerContext, id: string, uri: string, wanted: boolean): Promise<readonly string[]> {
    const changed = await this.#change(caller, id, (record) => {
      const others = (record.subscriptions ?? []).filter((one) => one !== uri);
      return { ...record, subscriptions: wanted ? [...others, uri].slice(-MAX_SUBSCRIPTIONS) : others };
    });
    return changed?.subscriptions ?? [];
  }

  /** False for an id that is unknown, expired or another caller's. */
  async delete(caller: CallerContext, id: string): Promise<boolean> {
    if ((await this.#read(caller, id)) === null) return false;
    await this.#kv.delete(keyOf(caller, id));
    await this.#changeIndex(caller, (index) => index.filter((entry) => entry.id !== id));
    return true;
  }

  /** Only by the revision that was read: a change that another request makes meanwhile is not undone, and what it deleted stays deleted. */
  #change(
    caller: CallerContext,
    id: string,
    change: (record: SessionRecord) => SessionRecord,
  ): Promise<SessionRecord | undefined> {
    return untilAlone(async () => {
      const read = await this.#read(caller, id);
      if (read === null) return undefined;
      const record = change(read.record);
      await this.#kv.update(keyOf(caller, id), JSON.stringify(record), read.revision);
      return record;
    });
  }

  async #read(caller: CallerContext, id: string): Promise<{ record: SessionRecord; revision: number } | null> {
    if (!UUID.test(id)) return null;
    const key = keyOf(caller, id);
    // A replica of the bucket may lag behind the answer that told the client its session: ask the leader before a no.
    const entry = (await this.#kv.get(key)) ?? (await this.#fromLeader(key));
    if (entry === null) return null;
    const record = entry.json<SessionRecord>();
    const young = Date.parse(record.created_at) + LIFE_MS > this.now();
    return young && record.offered === this.offered ? { record, revision: entry.revision } : null;
  }

  async #fromLeader(key: string): Promise<Pick<KvEntry, 'json' | 'revision'> | null> {
    const { name } = BUCKETS.mcpSessions;
    const message = await this.bus.direct.lastFromLeader(`KV_${name}`, `$KV.${name}.${key}`);
    if (message === null || message.data.length === 0) return null;
    return { revision: message.seq, json: <T>() => JSON.parse(Buffer.from(message.data).toString()) as T };
  }

  /** One change of a caller's index after the other here; another replica's is met by the revision. */
  #changeIndex(caller: CallerContext, change: (index: Index) => Index): Promise<void> {
    const key = indexKey(caller);
    const before = this.#indexing.get(key) ?? Promise.resolve();
    const after = before.catch(() => undefined).then(() => this.#tryIndex(caller, change));
    this.#indexing.set(key, after);
    return after.finally(() => {
      if (this.#indexing.get(key) === after) this.#indexing.delete(key);
    });
  }

  #tryIndex(caller: CallerContext, change: (index: Index) => Index): Promise<void> {
    return untilAlone(async () => {
      const entry = await this.#kv.get(indexKey(caller));
      const oldest = this.now() - LIFE_MS;
      const living = (entry?.json<Index>() ?? []).filter(({ created_at }) => Date.parse(created_at) > oldest);
      const index = change(living);
      const tooMany = index.splice(0, Math.max(0, index.length - MAX_PER_CALLER));
      const text = JSON.stringify(index);
      if (entry) await this.#kv.update(indexKey(caller), text, entry.revision);
      else await this.#kv.create(indexKey(caller), text);
      await Promise.all(tooMany.map(({ id }) => this.#kv.delete(keyOf(caller, id))));
    });
  }
}

/** Reads and writes again while somebody else writes in between. */
async function untilAlone<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isCortexError(error) || error.kind !== 'conflict' || attempt === ATTEMPTS) throw error;
      await sleep(Math.random() * 20 * attempt);
    }
  }
}

const keyOf = (caller: CallerContext, id: string): string => `${caller.caller_hash.slice(0, 32)}.${id}`;
const indexKey = (caller: CallerContext): string => keyOf(caller, 'index');
