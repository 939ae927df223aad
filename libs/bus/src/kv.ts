import { setTimeout as sleep } from 'node:timers/promises';
import { conflict, isCortexError } from '@cortex/contracts';
import type { AckedOptions, Bus, KvBucket, KvEntry, KvWatch, StoredMessage } from './bus.js';

/** Pauses before a hint is followed up: a plain subscriber hears of a write before the stream holds it. */
const FOLLOW_UP_MS = [0, 20, 100, 500];
/** Hints may be lost, so a watch also looks by itself. */
const LOOK_MS = 5000;

interface Position {
  key: string;
  revision: number;
  /** Null: deleted. */
  entry: KvEntry | null;
}

/** Why not the client's own KV: reading all keys and watching make consumers, which services may not. */
export function kvBucket(bus: Bus, bucket: string): KvBucket {
  const stream = `KV_${bucket}`;
  const prefix = `$KV.${bucket}.`;

  const read = (message: StoredMessage): Position => {
    const key = message.subject.slice(prefix.length);
    const operation = message.headers?.get('KV-Operation');
    // What nobody wrote who may is no value: better none than a forged one.
    const gone = message.copied || operation === 'DEL' || operation === 'PURGE';
    const value = message.data.slice(); // a view would pin the whole read buffer
    const entry = { key, value, revision: message.seq, json: <T>() => JSON.parse(Buffer.from(value).toString()) as T };
    return { key, revision: message.seq, entry: gone ? null : entry };
  };

  const write = async (key: string, value: string | Uint8Array, options?: AckedOptions): Promise<number> =>
    (await bus.publishAcked(prefix + key, value, options)).seq;

  const last = async (key: string): Promise<Position | null> => {
    const message = await bus.direct.last(stream, prefix + key);
    return message && read(message);
  };

  async function* positions(filter: string, from: number): AsyncGenerator<Position> {
    for (let seq = from; ;) {
      const message = await bus.direct.next(stream, prefix + filter, seq);
      if (!message) return;
      yield read(message);
      seq = message.seq + 1;
    }
  }

  const create = async (key: string, value: string | Uint8Array): Promise<number> => {
    try {
      return await write(key, value, { expectLastSubjectSeq: 0 });
    } catch (error) {
      if (!isCortexError(error) || error.kind !== 'conflict') throw error;
      const stored = await bus.direct.lastFromLeader(stream, prefix + key);
      const there = stored && read(stored);
      if (there?.entry) throw conflict('key', `"${key}" has a value`, 'read it', { reason: 'revision_conflict' });
      // A deleted key is free, its marker only has to be named.
      return write(key, value, { expectLastSubjectSeq: there?.revision ?? 0 });
    }
  };

  const watch = (filter: string, fn: (key: string, entry: KvEntry | null) => void): KvWatch => {
    const known = new Map<string, number>();
    let at = 0;
    let stopped = false;
    let hinted = 0;
    let running = false;
    const started = Promise.withResolvers<void>();

    const tell = ({ key, revision, entry }: Position): void => {
      at = Math.max(at, revision);
      if (stopped || known.get(key) === revision) return;
      // Its deletion is remembered by the revision, so that the marker is not told again.
      if (entry || known.has(key)) fn(key, entry);
      known.set(key, revision);
    };

    /** From the beginning: after a reconnect markers may have expired and even the bucket may be another one. */
    const all = async (): Promise<void> => {
      const seen = new Set<string>();
      at = 0;
      for await (const position of positions(filter, 1)) {
        seen.add(position.key);
        tell(position);
      }
      for (const key of known.keys()) {
        if (seen.has(key)) continue;
        known.delete(key);
        if (!stopped) fn(key, null);
      }
    };

    const onward = async (): Promise<boolean> => {
      const before = at;
      for await (const position of positions(filter, at + 1)) tell(position);
      return at > before;
    };

    let whole = true;
    const run = async (): Promise<void> => {
      if (running) return;
      running = true;
      try {
        for (let attempt = 0; !stopped && attempt < FOLLOW_UP_MS.length; attempt++) {
          await sleep(FOLLOW_UP_MS[attempt], undefined, { ref: false });
          const heard = hinted;
          if (whole) {
            await all();
            whole = false;
            started.resolve();
          } else if (!(await onward())) continue;
          if (heard !== hinted)
            attempt = -1; // more came meanwhile
          else break;
        }
      } catch {
        // The bus is away: the next reconnect, hint or look comes back to it.
      } finally {
        running = false;
      }
    };

    const subscription = bus.subscribe(prefix + filter, () => {
      hinted++;
      void run();
    });
    const offStatus = bus.onStatus((up) => {
      if (!up) return;
      whole = true;
      void run();
    });
    const look = setInterval(() => void run(), LOOK_MS).unref();
    void run();
    return {
      ready: started.promise,
      stop: () => {
        stopped = true;
        clearInterval(look);
        offStatus();
        subscription.unsubscribe();
        started.resolve();
      },
    };
  };

  return {
    get: async (key) => (await last(key))?.entry ?? null,
    put: (key, value) => write(key, value),
    create,
    update: (key, value, revision) => write(key, value, { expectLastSubjectSeq: revision }),
    delete: async (key) => {
      await write(key, '', { headers: { 'KV-Operation': 'DEL' } });
    },
    async *walk(filter = '>') {
      for await (const { entry } of positions(filter, 1)) if (entry) yield entry;
    },
    watch,
  };
}
