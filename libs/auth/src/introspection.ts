import { boundedBody } from './bounded-body.js';

/**
 * What the issuer says of a token now. `misconfigured`: it does not know us, or does not answer as RFC 7662 wants; that never counts as
 * reachable or not. `unreachable`: nobody answered, or only that something is broken.
 */
export type IntrospectionVerdict = 'active' | 'revoked' | 'misconfigured' | 'unreachable';

export interface IntrospectionOptions {
  url: string;
  clientId: string;
  clientSecret: string;
  /** Seconds for which an answer holds. */
  cacheSeconds?: number;
  /** What counts while the issuer cannot be reached: nothing, or every token that is good otherwise. */
  failMode?: 'closed' | 'open';
  maxEntries?: number;
  log?: (level: 'info' | 'warn' | 'error', message: string, fields: Record<string, unknown>) => void;
  fetch?: typeof globalThis.fetch;
  /** Milliseconds; for tests. */
  now?: () => number;
}

const TIMEOUT_MS = 3_000;
const MAX_BYTES = 64 * 1024;
/** How long a verdict holds that nobody gave: that of `open`, and that our own credentials are wrong. */
const UNASKED_MS = 5_000;

interface Entry {
  verdict: IntrospectionVerdict | Promise<IntrospectionVerdict>;
  /** Milliseconds since 1970. */
  until: number;
}

/** Asks the issuer whether a verified token still counts (RFC 7662); remembered by `jti`. Source: gateway, section 10.4. */
export class Introspection {
  readonly #entries = new Map<string, Entry>();
  readonly #options: Required<IntrospectionOptions>;
  readonly #authorization: string;
  #state: 'well' | 'misconfigured' | 'unreachable' = 'well';

  constructor(options: IntrospectionOptions) {
    this.#options = {
      cacheSeconds: 60,
      failMode: 'closed',
      maxEntries: 10_000,
      log: () => undefined,
      fetch: (input, init) => globalThis.fetch(input, init),
      now: Date.now,
      ...options,
    };
    const part = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);
    const pair = `${part(options.clientId)}:${part(options.clientSecret)}`;
    this.#authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  }

  /** No promise for what is remembered. Never rejects. `unreachable` is answered in mode `closed` alone. */
  verdict(jti: string, token: string): IntrospectionVerdict | Promise<IntrospectionVerdict> {
    const known = this.#entries.get(jti);
    if (known !== undefined && (known.verdict instanceof Promise || known.until > this.#options.now())) {
      // The least recently used one is the first to go.
      this.#entries.delete(jti);
      this.#entries.set(jti, known);
      return known.verdict;
    }
    const asking = this.ask(token).then((said) => this.#remember(jti, said));
    this.#put(jti, { verdict: asking, until: Infinity });
    return asking;
  }

  /** Asks now, and remembers nothing. */
  async ask(token: string): Promise<IntrospectionVerdict> {
    const { url, fetch } = this.#options;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          authorization: this.#authorization,
          accept: 'application/json',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({ token }).toString(),
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const { status } = response;
      if (status >= 500 || status === 429) {
        await response.body?.cancel();
        return this.#tell('unreachable', `answered ${status}`);
      }
      const text = await boundedBody(response, MAX_BYTES);
      const active = status === 200 ? activeOf(text) : undefined;
      if (active === undefined) return this.#tell('misconfigured', `answered ${status}, and not as RFC 7662 says`);
      this.#tell('well', '');
      return active ? 'active' : 'revoked';
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return this.#tell('unreachable', cause instanceof Error ? cause.message : String(cause));
    }
  }

  #remember(jti: string, said: IntrospectionVerdict): IntrospectionVerdict {
    const { cacheSeconds, failMode, now } = this.#options;
    if (said === 'unreachable' && failMode === 'closed') {
      // Not kept, so that the first call after the outage passes.
      this.#entries.delete(jti);
      return said;
    }
    const asked = said === 'active' || said === 'revoked';
    const verdict = said === 'unreachable' ? 'active' : said;
    this.#put(jti, { verdict, until: now() + (asked ? cacheSeconds * 1000 : UNASKED_MS) });
    return verdict;
  }

  #put(jti: string, entry: Entry): void {
    this.#entries.delete(jti);
    this.#entries.set(jti, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#options.maxEntries) break;
      this.#entries.delete(oldest);
    }
  }

  /** A line when it changes, not for every token. */
  #tell<State extends 'well' | 'misconfigured' | 'unreachable'>(state: State, error: string): State {
    if (state === this.#state) return state;
    this.#state = state;
    const { log, url, failMode } = this.#options;
    const { origin } = new URL(url);
    if (state === 'well') log('info', 'the issuer answers again whether tokens are good', { origin });
    else if (state === 'misconfigured')
      log(
        'error',
        'introspect_misconfigured: every token is refused; look at OAUTH_INTROSPECT_URL, OAUTH_INTROSPECT_CLIENT_ID and OAUTH_INTROSPECT_CLIENT_SECRET',
        {
          origin,
          error,
        },
      );
    else if (failMode === 'open')
      log('error', 'the issuer cannot be asked whether tokens are good; revoked ones pass', { origin, error });
    else
      log('error', 'the issuer cannot be asked whether tokens are good; callers are told to come back', {
        origin,
        error,
      });
    return state;
  }
}

function activeOf(text: string): boolean | undefined {
  try {
    const { active } = JSON.parse(text) as { active?: unknown };
    return typeof active === 'boolean' ? active : undefined;
  } catch {
    return undefined;
  }
}
