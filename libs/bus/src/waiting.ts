/**
 * What waits, by a token that names its slot. Not a `Map`: one that is added to and deleted from with every call leaves its old tables behind
 * in the old generation, each pointing to the next, and with them every call that they held lives until the next full collection.
 */
export class Waiting<T extends { readonly token: string }> {
  readonly #slots: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#slots.length - this.#free.length;
  }

  /** `secret` makes the token one that nobody guesses; slots are used again. */
  add(secret: string, make: (token: string) => T): T {
    const slot = this.#free.pop() ?? this.#slots.length;
    const item = make(`${slot.toString(36)}-${secret}`);
    this.#slots[slot] = item;
    return item;
  }

  has(item: T): boolean {
    return this.#slots[slotOf(item.token)] === item;
  }

  /** Out of the slots; undefined when nothing waits under this token, or no longer. */
  take(token: string): T | undefined {
    const slot = slotOf(token);
    const item = this.#slots[slot];
    if (item?.token !== token) return undefined;
    this.#slots[slot] = undefined;
    this.#free.push(slot);
    return item;
  }

  /** A copy, so that whoever walks may take. */
  all(): T[] {
    return this.#slots.filter((item) => item !== undefined);
  }
}

const slotOf = (token: string): number => Number.parseInt(token, 36);
