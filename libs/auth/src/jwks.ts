import { createLocalJWKSet, errors, type CryptoKey, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';

/** Where a verifier finds the key of a token. */
export interface KeySource {
  /** Null when no key fits, or when there are no keys at all. */
  key(header: JWSHeaderParameters): Promise<CryptoKey | null>;
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
const MAX_BYTES = 1024 * 1024;

interface KeySet {
  find: ReturnType<typeof createLocalJWKSet>;
  keys: Map<string, string>;
  at: number;
}

/**
 * The issuer's key set: fetched lazily, fresh for 10 minutes, one extra fetch per 30 s for an unknown key id, and the last
 * good set while the endpoint is down. Source: gateway, section 10.2.
 */
export class JwksSource implements KeySource {
  #set: KeySet | null = null;
  #loading: Promise<void> | null = null;
  #failedAt = -Infinity;
  #refetchedAt = -Infinity;
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

  onGone(listener: (kid: string) => void): void {
    this.#gone.push(listener);
  }

  async key(header: JWSHeaderParameters): Promise<CryptoKey | null> {
    await this.#refresh();
    const found = await this.#find(header);
    if (found || this.#set === null) return found;
    const now = this.#options.now();
    if (now - this.#refetchedAt < REFETCH_MS) return this.#loading ? this.#after(this.#loading, header) : null;
    this.#refetchedAt = now;
    return this.#after(this.#load(), header);
  }

  async #after(loading: Promise<void>, header: JWSHeaderParameters): Promise<CryptoKey | null> {
    await loading;
    return this.#find(header);
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
    return JSON.parse(await bodyOf(response)) as JSONWebKeySet;
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

/** Bounded while it is read: an issuer that goes on for ever costs no more than the limit. */
async function bodyOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the rest.
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error('answered more than 1 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
