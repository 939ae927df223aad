import { hash } from 'node:crypto';
import { isRefusal, type AuthRefusal } from './refusal.js';

/** What the cache must know of an entry. */
export interface CachedToken {
  kid: string;
  /** Seconds since 1970. */
  exp: number;
}

export interface TokenCacheOptions<T extends CachedToken> {
  /** The whole work for a token that is not cached: check it, and prepare what the gates read. */
  verify: (token: string) => Promise<T | AuthRefusal>;
  skewSeconds?: number;
  maxAgeMs?: number;
  maxEntries?: number;
  /** Milliseconds; for tests. */
  now?: () => number;
}

interface Entry<T> {
  value: T | Promise<T | AuthRefusal>;
  verifiedAt: number;
}

/**
 * Verified tokens by the SHA-256 of their text, so that no raw token lies in a heap dump. A burst verifies once; a refusal
 * is not kept; an entry lives a minute. Source: hot path, section 6.
 */
export class TokenCache<T extends CachedToken> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #options: Required<TokenCacheOptions<T>>;
  /** Rises when keys or rights are taken away: what was being verified meanwhile is not kept. */
  #epoch = 0;

  constructor(options: TokenCacheOptions<T>) {
    this.#options = { skewSeconds: 60, maxAgeMs: 60_000, maxEntries: 10_000, now: Date.now, ...options };
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whether `get` would answer at once with what it has verified. */
  knows(token: string): boolean {
    const entry = this.#entries.get(hash('sha256', token, 'base64'));
    return entry !== undefined && !(entry.value instanceof Promise) && this.#isFresh(entry, entry.value);
  }

  /** No promise on a hit: an ordinary call must not wait a turn for what is known. */
  get(token: string): T | AuthRefusal | Promise<T | AuthRefusal> {
    const key = hash('sha256', token, 'base64');
    const entry = this.#entries.get(key);
    if (entry === undefined) return this.#verify(key, token);
    if (entry.value instanceof Promise) return entry.value;
    if (this.#isFresh(entry, entry.value)) return entry.value;
    this.#entries.delete(key);
    return this.#verify(key, token);
  }

  #isFresh({ verifiedAt }: Entry<T>, { exp }: T): boolean {
    const now = this.#options.now();
    return now - verifiedAt < this.#options.maxAgeMs && (exp + this.#options.skewSeconds) * 1000 > now;
  }

  /** The key left the issuer's set: its tokens are looked at again. */
  dropKid(kid: string): void {
    this.#epoch++;
    for (const [key, { value }] of this.#entries) {
      if (!(value instanceof Promise) && value.kid === kid) this.#entries.delete(key);
    }
  }

  /** Forgets every entry: what they were prepared from has changed. */
  clear(): void {
    this.#epoch++;
    this.#entries.clear();
  }

  #verify(key: string, token: string): Promise<T | AuthRefusal> {
    const epoch = this.#epoch;
    const value = this.#options.verify(token).then(
      (verified) => {
        if (isRefusal(verified)) {
          this.#forget(key, entry);
          return verified;
        }
        if (epoch === this.#epoch) entry.value = verified;
        else this.#forget(key, entry);
        return verified;
      },
      (error: unknown) => {
        this.#forget(key, entry);
        throw error;
      },
    );
    const entry: Entry<T> = { value, verifiedAt: this.#options.now() };
    this.#entries.set(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#options.maxEntries) break;
      this.#entries.delete(oldest);
    }
    return value;
  }

  #forget(key: string, entry: Entry<T>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}
