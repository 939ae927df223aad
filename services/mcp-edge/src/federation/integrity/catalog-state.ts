import type { Definition, HoldReason, ItemKind, Seal } from '@cortex/contracts/definition';

export interface Approved extends Definition {
  /** ISO 8601. */
  readonly since: string;
  readonly by: string;
  readonly seal?: Seal;
}

/** Who approves what nobody had to look at. */
export const AUTOMATIC = 'first seen';

export type Past = Pick<Approved, 'digest' | 'since' | 'by'>;

/** Why an item is not offered as it is declared. `partly`: it is, but for the hints and the scope in `changed`. */
export interface Held {
  readonly reasons: readonly HoldReason[];
  readonly changed: readonly string[];
  readonly since: string;
  readonly partly: boolean;
}

export interface Item {
  readonly kind: ItemKind;
  readonly name: string;
  readonly approved: Approved | null;
  /** What is declared while it is held; null when what is approved is what is declared. */
  readonly seen: Definition | null;
  readonly held: Held | null;
  readonly listed: boolean;
  /** Was rolled back: nothing else is in force before somebody acknowledges it. */
  readonly pinned: boolean;
  /** What was approved before, oldest first: each definition once per who approved it. */
  readonly past: readonly Past[];
  /** `at` of the newest seal: an older one that is brought in again proves nothing. */
  readonly sealed: string;
  /** `at` of the newest approval, whoever's clock it was; empty where there was none. */
  readonly decided: string;
}

export interface CatalogState {
  /** By kind and name; an item that left the list stays, so that being away approves nothing (threat T33). */
  readonly items: Readonly<Record<string, Item>>;
  readonly restarted: {
    readonly why: 'start_over' | 'signed_baseline';
    readonly seal: Seal | null;
    readonly at: string;
    readonly by: string;
    /** What others know as decided up to then has ended. ISO 8601, as all times. */
    readonly until: string;
    /** Newest `sealed` of items that it dropped, which counts for whatever comes under their names. */
    readonly dropped?: string;
  } | null;
  /** When the first commit was made behind those that the log has lost since the approvals began; null while it is whole. */
  readonly lost: string | null;
}

/** Makes the proof of an approval; undefined while no private key is configured. */
export type Sign = (kind: ItemKind, name: string, digest: string) => Seal;

export interface Policy {
  /** What becomes of a change: served and logged, or held back. */
  readonly mode: 'warn' | 'block';
  /** Whether a definition that is only written in another order is a change. */
  readonly order: 'report' | 'block';
  /** Whether a new item waits for somebody's approval. */
  readonly pendingNew: boolean;
}

export const keyOf = ({ kind, name }: { kind: ItemKind; name: string }): string => `${kind}/${name}`;

/**
 * Items that are kept of one backend. Every name that it ever declared is one, until the approvals begin anew, and it may declare others each
 * time it is asked.
 */
export const MAX_ITEMS = 20_000;

/** Those that a review can take in: the known ones, and new ones while there is room. */
export function admitted<T extends { kind: ItemKind; name: string }>(
  items: CatalogState['items'],
  observed: readonly T[],
): readonly T[] {
  let room = MAX_ITEMS - Object.keys(items).length;
  if (room >= observed.length) return observed;
  return observed.filter((one) => keyOf(one) in items || room-- > 0);
}
