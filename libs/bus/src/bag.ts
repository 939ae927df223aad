/** What a bag can hold: the bag keeps its own place in it. */
export interface Bagged {
  slot: number;
}

/**
 * A set for things that come and go with every call. A `Set` that is added to and deleted from all the time leaves its old tables behind
 * in the old generation, each pointing to the next, and with them everything they held lives until the next full collection: measured, a
 * third of all that a call allocates.
 */
export class Bag<T extends Bagged> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    item.slot = this.#items.length;
    this.#items.push(item);
  }

  /** Nothing happens when it is not in. */
  delete(item: T): void {
    const { slot } = item;
    if (this.#items[slot] !== item) return;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#items[slot] = last;
    last.slot = slot;
  }

  /** A copy, so that whoever walks may delete. */
  items(): readonly T[] {
    return this.#items.slice();
  }
}
