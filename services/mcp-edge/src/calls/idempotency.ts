import { type SealContext, type Sealer } from '@cortex/auth';
import type { Bus, KvBucket, KvEntry } from '@cortex/bus';
import {
  type BlobRef,
  BUCKETS,
  cancelled,
  conflict,
  CortexError,
  deadlineExceeded,
  failedPrecondition,
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
  /** Milliseconds since 1970 after which a call without a result counts as lost; 0: it came to nothing and may be sent again. */
  until: number;
  /** Nobody knows what it came to, and nobody may find out by sending it again. */
  unknown?: true;
  /** What the call came to, sealed, since a result may hold a secret; a large one lies in a blob. Missing while the call runs. */
  sealed?: string | BlobRef;
}

/** The first line of what is sealed; the members of a result follow it. */
type Head = { fingerprint: string } & ({ is_error: boolean; meta?: Record<string, unknown> } | { error: WireError });

const LF = 10;
const LOOK_MS = 100;
/** How long a claim or a release is tried again while the bus comes back: one that is lost makes the next call with its key wait. */
const SETTLE_MS = 10_000;
const GRACE_MS = 2_000;
/** For so long a call waits for keys that cannot be looked up, as while a stream elects another leader; then it is refused. */
const LOOKED_UP_MS = 2_000;

/**
 * The same key of the same caller gives the first result again, for a day, and no second effect. The gates have been passed before a stored
 * result is given, so a key does not outlive a lost right (threat T17). A lost call of an own tool is sent again, since its commit ids make that
 * harmless; one of a backend is not, since nothing does. Source: architecture, section 11.2; gateway, section 13.6.
 */
export class Idempotency {
  readonly #bucket: KvBucket;

  constructor(
    private readonly bus: Bus,
    private readonly sealer: Sealer,
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
      fingerprint: sha256Hex(JSON.stringify([ctx.workspace, identityOf(tool), ctx.args_json])),
      call_id: ctx.call_id,
      until: Date.now() + tool.announced.deadline_ms + GRACE_MS,
    };
    const taken = await this.#take(at, entry, ctx, tool.federated === undefined);
    if ('stored' in taken) return this.#give(taken.stored, sealedFor(ctx));
    return this.#keep(at, entry, taken.revision, sealedFor(ctx), tool, work);
  }

  /** The right to run, or what the first call with the key came to. */
  async #take(
    at: string,
    entry: Entry,
    ctx: CallContext,
    harmless: boolean,
  ): Promise<{ revision: number } | { stored: Entry }> {
    const giveUp = performance.now() + entry.until - Date.now();
    const began = performance.now();
    let claimed = false;
    for (;;) {
      let known: KvEntry | null = null;
      try {
        known = await this.#bucket.get(at);
        // The acknowledgement of our own claim was lost.
        if (claimed && known?.json<Entry>().call_id === entry.call_id) return { revision: known.revision };
        const revision = await this.#claim(at, entry, known, harmless);
        if (revision !== undefined) return { revision };
      } catch (error) {
        if (!isCortexError(error) || !isRetryable(error.kind)) throw error;
        claimed ||= error.details?.['outcome'] === 'unknown';
        if (performance.now() - began > (claimed ? SETTLE_MS : LOOKED_UP_MS))
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
        if (first.sealed !== undefined) return { stored: first };
        if (first.unknown === true || (!harmless && isLost(first))) throw outcomeUnknown();
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
  async #claim(at: string, entry: Entry, known: KvEntry | null, harmless: boolean): Promise<number | undefined> {
    const first = known?.json<Entry>();
    const free =
      first === undefined ||
      (first.fingerprint === entry.fingerprint &&
        first.sealed === undefined &&
        first.unknown === undefined &&
        (first.until === 0 || (harmless && isLost(first))));
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

  async #keep(
    at: string,
    entry: Entry,
    revision: number,
    context: SealContext,
    { federated }: EdgeTool,
    work: () => Promise<Delivered>,
  ): Promise<Delivered> {
    const { fingerprint } = entry;
    const keep = (head: Head, members: Uint8Array | string): Promise<void> =>
      this.#write(at, async () => {
        const sealed = await this.#sealed(context, head, members);
        return this.#bucket.update(at, JSON.stringify({ ...entry, sealed }), revision);
      });
    let delivered: Delivered;
    try {
      delivered = await work();
    } catch (error) {
      const wire = isCortexError(error) ? error.toWire() : undefined;
      // What may succeed later is not kept: the retry with the key is to run.
      const passing = wire === undefined || isRetryable(wire.kind) || wire.reason === 'revision_conflict';
      const final = !passing && wire.kind !== 'cancelled' && wire.kind !== 'internal';
      // Not awaited when it is a release: what became of the call is to be told at once.
      if (federated !== undefined && isUnknown(error))
        await this.#write(at, () => this.#bucket.update(at, JSON.stringify({ ...entry, unknown: true }), revision));
      else if (final) await keep({ fingerprint, error: wire }, '');
      else void this.#release(at, entry, revision);
      throw error;
    }
    const { is_error, meta, members, fault, result_type } = delivered;
    // Questions to the client are no result either: its answers come with the same key.
    const open = result_type !== undefined || (fault !== undefined && isRetryable(fault.kind));
    if (open) void this.#release(at, entry, revision);
    else await keep({ fingerprint, is_error, ...(meta && { meta }) }, members);
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

  async #sealed(context: SealContext, head: Head, members: Uint8Array | string): Promise<string | BlobRef> {
    const plain = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), Buffer.from(members)]);
    const sealed = this.sealer.seal(context, plain);
    return sealed.length > INLINE_LIMIT ? this.bus.blobs.put(Buffer.from(sealed)) : sealed;
  }

  async #give({ sealed = '', fingerprint, call_id }: Entry, context: SealContext): Promise<Delivered> {
    const text = typeof sealed === 'string' ? sealed : Buffer.from(await this.bus.blobs.get(sealed)).toString('latin1');
    let plain: Buffer;
    let head: Head;
    try {
      plain = this.sealer.open(context, text);
      head = JSON.parse(plain.toString('utf8', 0, plain.indexOf(LF))) as Head;
      // Somebody put what one key came to under another.
      if (head.fingerprint !== fingerprint) throw new Error('the result of another call');
    } catch (cause) {
      this.log.error({ call_id, error: (cause as Error).message }, 'the kept result of a call cannot be opened');
      throw failedPrecondition(
        'cortex/idempotencyKey',
        'was used before, but what that call came to can no longer be read',
        'look at what it did before you repeat it with a new key',
        { reason: 'invalid_state', cause },
      );
    }
    if ('error' in head) throw CortexError.fromWire(head.error);
    const { is_error, meta } = head;
    return { members: plain.subarray(plain.indexOf(LF) + 1), is_error, ...(meta && { meta }) };
  }
}

const isLost = ({ until, sealed }: Entry): boolean => until !== 0 && sealed === undefined && until < Date.now();

/** The backend may have done it: the connection broke, the time was over, or its caller left. */
const isUnknown = (error: unknown): boolean =>
  !isCortexError(error) || error.kind === 'cancelled' || error.details?.['outcome'] === 'unknown';

const outcomeUnknown = (): CortexError =>
  conflict(
    'cortex/idempotencyKey',
    'was used for a call that got no answer, and whether that took effect is unknown',
    'look before you send it again with a new key',
  );

/** No prefix lends the key of one tool to another. */
const identityOf = ({ name, federated }: EdgeTool): string =>
  federated === undefined ? name : `${federated.backend.id}/${federated.original}`;

const sealedFor = ({ input }: CallContext): SealContext => ({
  purpose: 'result',
  caller: input.caller.caller_key,
  method: 'tools/call',
});
