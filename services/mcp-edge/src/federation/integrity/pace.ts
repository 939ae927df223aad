import type { DefinitionEvent } from '@cortex/contracts/definition';
import type { Item } from './catalog-state.js';

export interface PaceOptions {
  /** How often backends are asked by themselves, in milliseconds. */
  readonly everyMs: number;
  /** Milliseconds; for tests. */
  readonly now?: () => number;
}

/**
 * What is recorded of an item that changes again and again, or comes and goes: each change holds a whole definition, and a backend decides how
 * often it is asked (`list_changed`). In an interval it is held back once, changes once while it is held, and returns once; that it is as it
 * was approved again is always recorded. What is not recorded is held all the same, or was approved word by word.
 */
export class Pace {
  readonly #windows = new Map<string, { ends: number; taken: Set<string> }>();
  readonly #now: () => number;

  constructor(private readonly options: PaceOptions) {
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether what a review came to is recorded now. Counts it if so. */
  takes(backend: string, key: string, item: Item | undefined, events: readonly DefinitionEvent[]): boolean {
    const what = kindOf(item, events);
    if (what === undefined) return true;
    const { taken } = this.#windowOf(backend);
    const entry = `${what} ${key}`;
    if (taken.has(entry)) return false;
    taken.add(entry);
    return true;
  }

  /** Begins anew: an operator decided about this backend, and wants to see what comes of it. */
  forget(backend: string): void {
    this.#windows.delete(backend);
  }

  #windowOf(backend: string): { taken: Set<string> } {
    const now = this.#now();
    const known = this.#windows.get(backend);
    if (known !== undefined && known.ends > now) return known;
    const window = { ends: now + this.options.everyMs, taken: new Set<string>() };
    this.#windows.set(backend, window);
    return window;
  }
}

/** What is counted; undefined for what is recorded whenever it comes. */
function kindOf(
  item: Item | undefined,
  events: readonly DefinitionEvent[],
): 'held' | 'changed' | 'returned' | undefined {
  for (const { type, data } of events) {
    if (type === 'ToolDefinitionAdded' && data.returned) return 'returned';
    if (type !== 'ToolDefinitionMutated' || data.approved) continue;
    if (item?.held?.partly === false) return 'changed';
    // An order that is not recorded would not be held: its words are the approved ones.
    return data.changed[0] === 'order' ? undefined : 'held';
  }
  return undefined;
}
