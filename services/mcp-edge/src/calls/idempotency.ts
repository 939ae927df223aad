import type { Bus, KvBucket, KvEntry } from '@cortex/bus';
import {
  type BlobRef,
  BUCKETS,
  cancelled,
  conflict,
  CortexError,
  deadlineExceeded,
  hashedToken,
  INLINE_LIMIT,
  isCortexError,
  isRetryable,
  sha256Hex,
  unavailable,
  type WireError,
} from '@cortex/contracts';
import type { EdgeTool } from '../catalog/edge-tool.js';
import type { EdgeLog } from '../seams.js';
import type { CallContext } from './call-context.js';
import type { Delivered } from './dispatch.js';

/** What the bucket holds for one key of one caller. */
interface Entry {
  v: 1;
  /** Of workspace, tool and arguments. */
  fingerprint: string;
  call_id: string;
  /** Milliseconds since 1970 after which a call without a result counts as lost and is sent again. */
  until: number;
  result?: { members?: string; blob?: BlobRef; is_error: boolean; meta?: Record<string, unknown> };
  error?: WireError;
}

const LOOK_MS = 100;
/** How long a claim or a release is tried again while the bus comes back: one that is lost makes the next call with its key wait. */
const SETTLE_MS = 10_000;
const GRACE_MS = 2_000;

/**
 * The same key of the same caller gives the first result again, for a day, and no second effect. The gates have been passed before a stored
 * result is given, so a key does not outlive a lost right (threat T17). Source: architecture, section 11.2.
 */
export class Idempotency {
  readonly #bucket: KvBucket;

  constructor(
    private readonly bus: Bus,
    private readonly log: EdgeLog,
  ) {
    this.#bucket = bus.kv(BUCKETS.idempotency.name);
  }

  /** Errors: those of `work`, `conflict` idempotency_mismatch, `unavailable`, `deadline_exceeded`. */
  async run(ctx: CallContext, tool: EdgeTool, key: string, work: () => Promise<Delivered>): Promise<Delivered> {
    const { caller_hash } = ctx.input.caller;
    const at = hashedToken(JSON.stringify([caller_hash, key]));
    const entry: Entry = {
      v: 1,
      fingerprint: sha256Hex(JSON.stringify([ctx.workspace, tool.name, ctx.args_json])),
      call_id: ctx.call_id,
      until: Date.now() + tool.announced.deadline_ms + GRACE_MS,
    };
    const taken = await this.#take(at, entry, ctx);
    if ('stored' in taken) return this.#give(taken.stored);
    return this.#keep(at, entry, taken.revision, work);
  }

  /** The right to run, or what the first call with the key came to. */
  async #take(at: string, entry: Entry, ctx: CallContext): Promise<{ revision: number } | { stored: Entry }> {
    const giveUp = performance.now() + entry.until - Date.now();
    const settled = performance.now() + SETTLE_MS;
    let claimed = false;
    for (;;) {
      let known: KvEntry | null = null;
      try {
        known = await this.#bucket.get(at);
        // The acknowledgement of our own claim was lost.
        if (claimed && known?.json<Entry>().call_id === entry.call_id) return { revision: known.revision };
        const revision = await this.#claim(at, entry, known);
        if (revision !== undefined) return { revision };
      } catch (error) {
        if (!isCortexError(error) || !isRetryable(error.kind)) throw error;
        claimed ||= error.details?.['outcome'] === 'unknown';
        if (!claimed || performance.now() > settled)
          throw unavailable(
            undefined,
            'the key of this call could not be looked up and nothing was run',
            'send it again with the same idempotency key',
          );
        known = null;
      }
      if (known !== null) {
        const first = known.json<Entry>();
        if (first.fingerprint !== entry.fingerprint)
          throw conflict('cortex/idempotencyKey', 'was used for another call', 'use a new key for a new call', {
            reason: 'idempotency_mismatch',
          });
        if (first.result !== undefined || first.error !== undefined) return { stored: first };
      }
      if (ctx.input.cancel.cancelled) throw cancelled(undefined, 'the call was cancelled', '');
      if (performance.now() > giveUp)
        throw deadlineExceeded(
          undefined,
          'the first call with this key is still running',
          'try again later with the same key',
          { reason: 'timeout' },
        );
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** The entry's revision when it is ours now; undefined when somebody else's stands there. */
  async #claim(at: string, entry: Entry, known: KvEntry | null): Promise<number | undefined> {
    const lost = known?.json<Entry>();
    const free =
      lost === undefined ||
      (lost.fingerprint === entry.fingerprint &&
        lost.result === undefined &&
        lost.error === undefined &&
        lost.until < Date.now());
    if (!free) return undefined;
    try {
      return known === null
        ? await this.#bucket.create(at, JSON.stringify(entry))
        : await this.#bucket.update(at, JSON.stringify(entry), known.revision);
    } catch (error) {
      if (isCortexError(error) && error.kind === 'conflict') return undefined;
      throw error;
    }
  }

  async #keep(at: string, entry: Entry, revision: number, work: () => Promise<Delivered>): Promise<Delivered> {
    let delivered: Delivered;
    try {
      delivered = await work();
    } catch (error) {
      const wire = isCortexError(error) ? error.toWire() : undefined;
      // What may succeed later is not kept: the retry with the key is to run.
      const final =
        wire !== undefined && !isRetryable(wire.kind) && wire.kind !== 'cancelled' && wire.kind !== 'internal';
      // Not awaited when it is a release: what became of the call is to be told at once.
      if (final)
        await this.#write(at, () => this.#bucket.update(at, JSON.stringify({ ...entry, error: wire }), revision));
      else void this.#release(at, entry, revision);
      throw error;
    }
    await this.#write(at, async () => {
      const { is_error, meta } = delivered;
      const body = await this.#body(delivered.members);
      const result = { ...body, is_error, ...(meta && { meta }) };
      return this.#bucket.update(at, JSON.stringify({ ...entry, result }), revision);
    });
    return delivered;
  }

  /** By its revision, so that a try whose acknowledgement was lost takes nothing from whoever claimed the key after it. */
  async #release(at: string, entry: Entry, revision: number): Promise<void> {
    for (const until = performance.now() + SETTLE_MS; ; await new Promise((resolve) => setTimeout(resolve, LOOK_MS))) {
      try {
        await this.#bucket.update(at, JSON.stringify({ ...entry, until: 0 }), revision);
        return;
      } catch (error) {
        if (isCortexError(error) && error.kind === 'conflict') return;
        if (performance.now() < until) continue;
        this.log.warn({ key: at, error: (error as Error).message }, 'the key of a failed call could not be released');
        return;
      }
    }
  }

  /** Without the stored result a repeat runs again after the deadline, which the commit ids make harmless. */
  async #write(at: string, write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.log.warn({ key: at, error: (error as Error).message }, 'the result of a keyed call could not be kept');
    }
  }

  async #body(members: Uint8Array | string): Promise<{ members: string } | { blob: BlobRef }> {
    const bytes = Buffer.from(members);
    return bytes.length > INLINE_LIMIT / 2
      ? { blob: await this.bus.blobs.put(bytes) }
      : { members: bytes.toString('utf8') };
  }

  async #give({ result, error }: Entry): Promise<Delivered> {
    if (error !== undefined) throw CortexError.fromWire(error);
    const { members, blob, is_error = false, meta } = result ?? {};
    return {
      members: blob === undefined ? (members ?? '') : await this.bus.blobs.get(blob),
      is_error,
      ...(meta && { meta }),
    };
  }
}
