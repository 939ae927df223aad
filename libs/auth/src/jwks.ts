import { createLocalJWKSet, errors, type CryptoKey, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import { boundedBody } from './bounded-body.js';

/** Where a verifier finds the key of a token. */
export interface KeySource {
  /** There are no keys at all: none could be fetched yet, or the last ones are too old. */
  readonly empty: boolean;
  /** Null when no key fits, or when there are no keys at all. */
  key(header: JWSHeaderParameters): Promise<CryptoKey | null>;
  /** Another key than `failed`, whose signature did not fit, where the issuer has put one under the same id; else null. */
  renewed(header: JWSHeaderParameters, failed: CryptoKey): Promise<CryptoKey | null>;
  /** Tells of key ids that left the set or whose key changed; '' stands for tokens without a key id. */
  onGone(listener: (kid: string) => void): void;
}

export interface JwksOptions {
  /** Where the set comes from: it is fetched from there, or is the name of the place in logs where `load` is given. */
  url: string;
  /** Gets the set; default an HTTP GET of `url`. */
  load?: () => Promise<JSONWebKeySet>;
  /** Seconds for which the last good set serves while the endpoint is down. */
  maxStaleSeconds?: number;
  log?: (level: 'warn' | 'error', message: string, fields: Record<string, unknown>) => void;
  /** Told when keys begin to be used that are older than 10 minutes, and when that is over; a metric. */
  onStale?: (stale: boolean) => void;
  fetch?: typeof globalThis.fetch;
  /** Milliseconds; for tests. */
  now?: () => number;
}

const FRESH_MS = 600_000;
const REFETCH_MS = 30_000;
/** With no set at all every caller is refused, so look again soon: the issuer may be starting just now. */
const RETRY_EMPTY_MS = 1_000;
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 256 * 1024;

interface KeySet {
  find: ReturnType<typeof createLocalJWKSet>;
  keys: Map<string, string>;
  at: number;
}

/**
 * The issuer's key set: fetched lazily, fresh for 10 minutes, one extra fetch per 30 s for a key id that is unknown, one for a key
 * that does not fit any more, and the last good set while the endpoint is down. Source: gateway, section 10.2.
 */
export class JwksSource implements KeySource {
  #set: KeySet | null = null;
  #loading: Promise<void> | null = null;
  #failedAt = -Infinity;
  /** An allowance for each cause: forged signatures must not hold up a key that is new. */
  readonly #refetchedAt = { unknown: -Infinity, unfit: -Infinity };
  readonly #gone: ((kid: string) => void)[] = [];
  readonly #options: Required<JwksOptions>;
  #stale = false;

  constructor(options: JwksOptions) {
    this.#options = {
      maxStaleSeconds: 86_400,
      log: () => undefined,
      onStale: () => undefined,
      fetch: (input, init) => globalThis.fetch(input, init),
      now: Date.now,
      load: () => this.#get(),
      ...options,
    };
  }

  get empty(): boolean {
    return this.#set === null;
  }

  onGone(listener: (kid: string) => void): void {
    this.#gone.push(listener);
  }

  async key(header: JWSHeaderParameters): Promise<CryptoKey | null> {
    await this.#refresh();
    const found = await this.#find(header);
    if (found || this.#set === null) return found;
    return (await this.#extraFetch('unknown')) ? this.#find(header) : null;
  }

  async renewed(header: JWSHeaderParameters, failed: CryptoKey): Promise<CryptoKey | null> {
    const other = async (): Promise<CryptoKey | null> => {
      const found = await this.#find(header);
      return found === failed ? null : found;
    };
    return (await other()) ?? ((await this.#extraFetch('unfit')) ? other() : null);
  }

  /** Bounded, whatever asks for it and however often: forged tokens must not turn this process against the issuer. False when none was due. */
  async #extraFetch(cause: 'unknown' | 'unfit'): Promise<boolean> {
    const now = this.#options.now();
    if (now - this.#refetchedAt[cause] >= REFETCH_MS) {
      this.#refetchedAt[cause] = now;
      void this.#load();
    }
    if (this.#loading === null) return false;
    await this.#loading;
    return true;
  }

  async #find(header: JWSHeaderParameters): Promise<CryptoKey | null> {
    try {
      return this.#set ? await this.#set.find(header) : null;
    } catch (error) {
      // None fits, several fit, or what fits cannot be imported: in each case no key may be trusted.
      if (!(error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)) {
        this.#options.log('warn', 'a key of the issuer cannot be used', { kid: header.kid, error: String(error) });
      }
      return null;
    }
  }

  async #refresh(): Promise<void> {
    const { now, maxStaleSeconds, log, url } = this.#options;
    const age = this.#set ? now() - this.#set.at : Infinity;
    if (age < FRESH_MS) return;
    if (this.#loading || now() - this.#failedAt >= (this.#set ? REFETCH_MS : RETRY_EMPTY_MS)) await this.#load();
    if (this.#set === null) return;
    const stale = now() - this.#set.at;
    if (stale < FRESH_MS) return;
    if (stale < maxStaleSeconds * 1000) return this.#tellStale(true);
    log('error', 'the keys of the issuer are too old to be used', { url, age_s: Math.round(stale / 1000) });
    this.#replace(null);
  }

  /** One fetch at a time; whoever comes meanwhile waits for the same one. Never rejects. */
  #load(): Promise<void> {
    this.#loading ??= this.#fetch()
      .then((set) => this.#replace(set))
      .catch((error: unknown) => {
        this.#failedAt = this.#options.now();
        if (this.#set) this.#tellStale(true);
        const level = this.#set ? 'warn' : 'error';
        const what = this.#set ? 'the last good ones are used' : 'every token of it is refused';
        this.#options.log(level, `the keys of the issuer cannot be fetched; ${what}`, {
          url: this.#options.url,
          error: error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : '',
        });
      })
      .finally(() => {
        this.#loading = null;
      });
    return this.#loading;
  }

  async #fetch(): Promise<KeySet> {
    const jwks = await this.#options.load();
    const find = createLocalJWKSet(jwks);
    const keys = new Map(jwks.keys.map((key) => [key.kid ?? '', JSON.stringify(key)]));
    return { find, keys, at: this.#options.now() };
  }

  async #get(): Promise<JSONWebKeySet> {
    const response = await this.#options.fetch(this.#options.url, {
      headers: { accept: 'application/jwk-set+json, application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`answered ${response.status}`);
    }
    return JSON.parse(await boundedBody(response, MAX_BYTES)) as JSONWebKeySet;
  }

  #tellStale(stale: boolean): void {
    if (stale === this.#stale) return;
    this.#stale = stale;
    this.#options.onStale(stale);
  }

  #replace(set: KeySet | null): void {
    const before = this.#set;
    this.#set = set;
    this.#tellStale(false);
    if (before === null) return;
    const gone = [...before.keys].filter(([kid, key]) => set?.keys.get(kid) !== key).map(([kid]) => kid);
    // A token without a key id may have been signed by any key that left.
    if (gone.length > 0) for (const kid of new Set([...gone, ''])) for (const listener of this.#gone) listener(kid);
  }
}
