import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '@cortex/contracts';
import type { ItemKind } from '@cortex/contracts/definition';
import { shown } from '@cortex/contracts/text-rules';
import { type CatalogState, keyOf } from './catalog-state.js';

/** What something beside the log knows of an item. */
export interface Testimony {
  readonly kind: ItemKind;
  readonly name: string;
  /** Of the definition that was approved last; where none ever was, of the newest that was seen. */
  readonly digest: string;
  readonly approved: boolean;
  /** When it was approved, or first seen. ISO 8601. */
  readonly at: string;
  /** Who approved it; null where that is not known. */
  readonly by: string | null;
  readonly from: 'the database' | 'the baseline file';
}

/** All that is known of the items of a backend beside the log. Rejects while that cannot be said. */
export type Witness = (backend: string) => Promise<readonly Testimony[]>;

/** A database that hangs keeps the other backends waiting no longer. */
const ANSWER_WITHIN_MS = 5_000;

/** Errors: `unavailable` (witness) for all that goes wrong. */
export async function heard(witness: Witness, backend: string): Promise<readonly Testimony[]> {
  const patience = new AbortController();
  const late = sleep(ANSWER_WITHIN_MS, undefined, { ref: false, signal: patience.signal }).then(() => {
    throw new Error(`it did not answer within ${ANSWER_WITHIN_MS} ms`);
  });
  try {
    return await Promise.race([witness(backend), late]);
  } catch (error) {
    throw unavailable(
      'witness',
      `does not say what it knows as decided (${(error as Error).message})`,
      'have the database answer: the log is compared with it once after a start',
    );
  } finally {
    late.catch(() => undefined);
    patience.abort();
  }
}

/** The newest that is known as decided; empty where nothing is. */
export const newestOf = (testimonies: readonly Testimony[]): string =>
  testimonies.reduce((max, { at }) => (at > max ? at : max), '');

const MAX_NAMED = 5;

/**
 * What the log has lost, in words; undefined while it has everything that others know. Of an item its newest approval counts: what it had
 * replaced decides nothing any more.
 */
export function lossOf(state: CatalogState, testimonies: readonly Testimony[]): string | undefined {
  const lost = new Map<string, Testimony>();
  for (const one of testimonies) {
    const key = keyOf(one);
    if (hasIt(state, key, one)) continue;
    const other = lost.get(key);
    if (other === undefined || other.at < one.at) lost.set(key, one);
  }
  const gap = state.lost === null ? undefined : `commits of before ${state.lost}`;
  if (lost.size === 0) {
    if (gap === undefined) return undefined;
    return `the log has lost ${gap}; what was decided with them is not known: database and baseline file miss nothing`;
  }
  const all = [...lost.values()];
  const named = all.slice(0, MAX_NAMED).map(inWords);
  const more = all.length > MAX_NAMED ? [`${all.length - MAX_NAMED} others`] : [];
  return `the log has lost ${gap === undefined ? '' : `${gap}, and with them `}what was decided about ${[...named, ...more].join(', ')}`;
}

function hasIt({ items, restarted }: CatalogState, key: string, { at, approved }: Testimony): boolean {
  if (restarted !== null && at <= restarted.until) return true;
  const item = items[key];
  return item !== undefined && (!approved || item.decided >= at);
}

function inWords({ kind, name, digest, approved, at, by, from }: Testimony): string {
  const what = `${kind} ${shown(name.slice(0, 128))}`;
  if (!approved) return `${what} (held back as ${digest.slice(0, 12)} on ${at}, says ${from})`;
  return `${what} (approved as ${digest.slice(0, 12)}${by === null ? '' : ` by ${by}`} on ${at}, says ${from})`;
}
