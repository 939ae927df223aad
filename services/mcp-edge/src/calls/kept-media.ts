import type { SealContext, Sealer } from '@cortex/auth';
import type { Bus, KvBucket } from '@cortex/bus';
import { type BlobRef, BUCKETS, hashedToken, isCortexError, sha256Hex } from '@cortex/contracts';
import { isObject } from '@cortex/contracts/is-object';
import { membersOf, partsOf } from '../federation/json-text.js';
import { isMimeType } from '../federation/mime-type.js';
import type { CallerContext, EdgeLog } from '../seams.js';
import type { Delivered } from './dispatch.js';

type Json = Record<string, unknown>;

/** What is kept of one piece: where its sealed bytes are. */
interface Entry {
  v: 1;
  blob: BlobRef;
  mimeType: string;
  /** Milliseconds. */
  at: number;
}
/** Bytes in a result, with the block that shows them. */
interface Media {
  block: Json;
  base64: string;
  mimeType: string;
}

const URI = /^cortex:\/\/media\/([0-9a-f]{32})$/;
/** What is kept for less than half of its day is not kept again. */
const FRESH_MS = (BUCKETS.idempotency.ttl_s * 1000) / 2;

export interface KeptMediaOptions {
  bus: Bus;
  sealer: Sealer;
  /** Bytes up to which media stay in their result; 0: all of them do. */
  inlineBytes: number;
  log: EdgeLog;
}

/**
 * Images, recordings and other bytes that are too large for a result: kept for a day, once per caller and content, and linked in their place.
 * Only who got a link can follow it.
 */
export class KeptMedia {
  readonly #bucket: KvBucket;
  /** Characters of base64; Infinity where nothing is too large. */
  readonly #limit: number;

  constructor(private readonly options: KeptMediaOptions) {
    this.#bucket = options.bus.kv(BUCKETS.idempotency.name);
    this.#limit = options.inlineBytes === 0 ? Infinity : Math.ceil(options.inlineBytes / 3) * 4;
  }

  /** Whether there can be anything too large in a result; one comparison. */
  heavy({ members }: Delivered): boolean {
    return members.length > this.#limit;
  }

  /** The result with links in place of what is too large. Whole where that cannot be kept. */
  async linked(delivered: Delivered, tool: string, caller: CallerContext): Promise<Delivered> {
    const text =
      typeof delivered.members === 'string' ? delivered.members : Buffer.from(delivered.members).toString('utf8');
    const members = membersOf(`{${text}}`);
    const blocks = partsOf(members.get('content') ?? '[]');
    try {
      const written = await Promise.all(blocks.map((block, i) => this.#written(block, `${i + 1} of ${tool}`, caller)));
      if (written.every((block, i) => block === blocks[i])) return delivered;
      members.set('content', `[${written.join(',')}]`);
      return { ...delivered, members: [...members].map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',') };
    } catch (error) {
      this.options.log.warn({ tool, error }, 'media of a result could not be kept, so they are in it');
      return delivered;
    }
  }

  /** Whether this is a link of ours. */
  links(uri: string): boolean {
    return URI.test(uri);
  }

  /** The contents behind a link, for the caller who was given it; undefined for everybody else, and after a day. */
  async read(uri: string, caller: CallerContext): Promise<Json | undefined> {
    const id = URI.exec(uri)?.[1];
    const entry = id && (await this.#bucket.get(keyOf(caller, id)))?.json<Entry>();
    if (!entry) return undefined;
    const { sealer, bus, log } = this.options;
    try {
      const sealed = Buffer.from(await bus.blobs.get(entry.blob)).toString('latin1');
      return { uri, mimeType: entry.mimeType, blob: sealer.open(sealedFor(caller), sealed).toString('base64') };
    } catch (error) {
      if (isCortexError(error) && error.kind !== 'not_found') throw error;
      // Its day is over, or the key that it was sealed with is no longer there.
      log.warn({ uri, error }, 'kept media can no longer be read');
      return undefined;
    }
  }

  /** One block as JSON text: the same, or a link. */
  async #written(text: string, name: string, caller: CallerContext): Promise<string> {
    const media = text.length > this.#limit ? mediaOf(JSON.parse(text)) : undefined;
    if (media === undefined || media.base64.length <= this.#limit) return text;
    const { block, base64, mimeType } = media;
    if (!isBase64(base64)) return JSON.stringify(leftOut(block));
    const bytes = Buffer.from(base64, 'base64');
    const sha256 = sha256Hex(bytes);
    const id = sha256.slice(0, 32);
    await this.#keep(keyOf(caller, id), bytes, mimeType, caller);
    const { annotations, _meta: meta } = block;
    return JSON.stringify({
      type: 'resource_link',
      uri: `cortex://media/${id}`,
      name: `${String(block['type'])} ${name}`,
      description: `${bytes.length} bytes, too large to stand in the result. Kept for a day for whoever called; read it by its uri.`,
      mimeType,
      size: bytes.length,
      ...(isObject(annotations) && { annotations }),
      _meta: { ...(isObject(meta) && meta), 'cortex/sha256': sha256 },
    });
  }

  async #keep(key: string, bytes: Buffer, mimeType: string, caller: CallerContext): Promise<void> {
    const { sealer, bus } = this.options;
    const known = (await this.#bucket.get(key))?.json<Entry>();
    if (known && known.mimeType === mimeType && known.at + FRESH_MS > Date.now()) return;
    const blob = await bus.blobs.put(Buffer.from(sealer.seal(sealedFor(caller), bytes), 'latin1'));
    const entry: Entry = { v: 1, blob, mimeType, at: Date.now() };
    await this.#bucket.put(key, JSON.stringify(entry));
  }
}

const keyOf = ({ caller_hash }: CallerContext, id: string): string =>
  hashedToken(JSON.stringify([caller_hash, 'media', id]));

const sealedFor = ({ caller_key }: CallerContext): SealContext => ({
  purpose: 'result',
  caller: caller_key,
  method: 'resources/read',
});

/** Undefined for a block that holds no bytes. */
function mediaOf(block: unknown): Media | undefined {
  if (!isObject(block)) return undefined;
  const { type, data, resource } = block;
  const holder = type === 'resource' && isObject(resource) ? resource : block;
  const base64 = holder === block ? data : holder['blob'];
  if (typeof base64 !== 'string') return undefined;
  const { mimeType } = holder;
  return { block, base64, mimeType: isMimeType(mimeType) ? mimeType : 'application/octet-stream' };
}

/** In place of what is too large and cannot be kept: it is no bytes of anything. */
const leftOut = ({ type, annotations }: Json): Json => ({
  type: 'text',
  text: `[${String(type)} left out: it is too large to stand in the result, and its data is no base64]`,
  ...(isObject(annotations) && { annotations }),
});

/** Also that of URLs, without padding, or broken into lines: its bytes come back as everybody writes them. */
function isBase64(text: string): boolean {
  const end = text.trimEnd();
  const padding = end.endsWith('==') ? 2 : Number(end.endsWith('='));
  return !/[^\w+/\s-]/.test(end.slice(0, end.length - padding));
}
