import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Crockford's base 32: without I, L, O and U, which are misread. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 10;
const TRIES = 5;
const LOCK_MS = 60_000;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** As it is compared: however it was typed. */
const normal = (entry: string): string =>
  entry.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');

/**
 * The secret that only who sees the terminal of `up` knows: 50 bits, new at every start. After 5 wrong entries in a row no
 * entry is looked at for a minute, whoever sends it, so guessing it takes longer than the universe has been there.
 */
export class LoginCode {
  /** `XXXXX-XXXXX`. */
  readonly text: string;
  readonly #digest: Buffer;
  #wrong = 0;
  #lockedUntil = 0;

  constructor(private readonly now: () => number = Date.now) {
    const letters = [...randomBytes(LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');
    this.text = `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
    this.#digest = digest(letters);
  }

  /** `locked`: seconds until an entry is looked at again; this one was not. */
  check(entry: string): { ok: boolean; locked: number } {
    const locked = this.lockedFor();
    if (locked > 0) return { ok: false, locked };
    if (timingSafeEqual(digest(normal(entry)), this.#digest)) {
      this.#wrong = 0;
      return { ok: true, locked: 0 };
    }
    if (++this.#wrong >= TRIES) {
      this.#wrong = 0;
      this.#lockedUntil = this.now() + LOCK_MS;
    }
    return { ok: false, locked: this.lockedFor() };
  }

  lockedFor(): number {
    return Math.max(0, Math.ceil((this.#lockedUntil - this.now()) / 1000));
  }
}
