import type { Sealer } from '@cortex/auth';
import type { CallerContext } from '../seams.js';
import { badParams } from './faults.js';

/** Where the next page begins, and in which state of the catalogue. */
interface Place {
  at: number;
  version: string;
}

/**
 * Lists in pages of `size` (0: everything on one). A cursor is sealed for its caller and its list, and is of no use once the list has
 * changed. Source: gateway, section 8.
 */
export class Pages {
  constructor(
    private readonly sealer: Sealer,
    readonly size: number,
  ) {}

  /** `version` changes whenever the list does. Throws the error of a cursor that nobody gave out, or that is stale. */
  page<T>(
    items: readonly T[],
    of: { method: string; caller: CallerContext; version: string; cursor: unknown },
  ): { items: readonly T[]; nextCursor?: string } {
    const { cursor, version } = of;
    const context = { purpose: 'cursor' as const, caller: of.caller.caller_key, method: of.method };
    let at = 0;
    if (cursor !== undefined) {
      const place = this.#open(context, cursor);
      if (place === undefined || place.version !== version) throw badParams('Invalid cursor');
      ({ at } = place);
    }
    if (this.size === 0) return { items };
    const end = at + this.size;
    if (end >= items.length) return { items: items.slice(at) };
    const next: Place = { at: end, version };
    return { items: items.slice(at, end), nextCursor: this.sealer.seal(context, Buffer.from(JSON.stringify(next))) };
  }

  #open(context: Parameters<Sealer['open']>[0], cursor: unknown): Place | undefined {
    if (typeof cursor !== 'string') return undefined;
    try {
      return JSON.parse(this.sealer.open(context, cursor).toString('utf8')) as Place;
    } catch {
      return undefined;
    }
  }
}
