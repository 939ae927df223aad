import { boundedBody } from '@cortex/auth/bounded-body';
import { isObject } from '@cortex/contracts/is-object';
import { IssuerMetadata } from '../http/issuer-metadata.js';
import type { EdgeLog } from '../seams.js';
import type { Settings } from '../settings.js';

export interface MachineIdentityOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly log: Pick<EdgeLog, 'error' | 'info'>;
  /** Milliseconds; for tests. */
  readonly now?: () => number;
}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 64 * 1024;
/** A token is not used in its last minute, in which a slower clock may call it expired. */
const MARGIN_MS = 60_000;
/** What an issuer that does not say how long its token lives is taken to mean. */
const USUAL_SECONDS = 300;

/**
 * The token of the catalogue as one that the issuer gives to Cortex itself (client credentials, RFC 6749 section 4.4), in place of a text that
 * is shared with every backend. One at a time, kept until a minute before its end. Source: gateway, section 12.3.
 */
export class MachineIdentity {
  readonly #metadata: IssuerMetadata;
  readonly #authorization: string;
  #held: { token: string; until: number } | undefined;
  #fetching: Promise<string> | undefined;
  #failing = false;

  constructor(private readonly options: MachineIdentityOptions) {
    const { issuer, clientId, clientSecret, now } = options;
    this.#metadata = new IssuerMetadata(issuer, now);
    const part = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);
    this.#authorization = `Basic ${Buffer.from(`${part(clientId)}:${part(clientSecret)}`).toString('base64')}`;
  }

  /** Rejects with a sentence for operators while the issuer gives none. */
  token(): Promise<string> {
    const { now = Date.now } = this.options;
    if (this.#held !== undefined && now() < this.#held.until) return Promise.resolve(this.#held.token);
    this.#fetching ??= this.#fetch().finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  /** A backend did not take this one: the next request asks for another. */
  refused(token: string): void {
    if (this.#held?.token === token) this.#held = undefined;
  }

  async #fetch(): Promise<string> {
    const { log, now = Date.now } = this.options;
    try {
      const { token, seconds } = await this.#ask(await this.#endpoint());
      this.#held = { token, until: now() + seconds * 1000 - MARGIN_MS };
      if (this.#failing) log.info({}, 'the issuer gives a token for the catalogue again');
      this.#failing = false;
      return token;
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const why = `the issuer gives no token for the catalogue: ${cause instanceof Error ? cause.message : String(cause)}`;
      if (!this.#failing) log.error({}, why);
      this.#failing = true;
      throw new Error(why);
    }
  }

  /** Where the issuer gives tokens: on itself, since the secret is for it and for nobody that its metadata may name. */
  async #endpoint(): Promise<string> {
    const { issuer } = this.options;
    const { token_endpoint: endpoint } = JSON.parse((await this.#metadata.get()) ?? '{}') as {
      token_endpoint?: unknown;
    };
    if (typeof endpoint !== 'string') throw new Error('its metadata cannot be read, or names no token_endpoint');
    if (new URL(endpoint).origin !== new URL(issuer).origin) throw new Error('its token_endpoint is on another server');
    return endpoint;
  }

  async #ask(endpoint: string): Promise<{ token: string; seconds: number }> {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        authorization: this.#authorization,
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await boundedBody(response, MAX_BYTES);
    // The answer may hold a token, so nothing of it is told.
    if (response.status !== 200) throw new Error(`it answered ${response.status}`);
    const answer = jsonOf(text);
    const { access_token: token, expires_in: seconds, token_type: type } = isObject(answer) ? answer : {};
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) throw new Error('its answer holds no token');
    if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') throw new Error('its token is no bearer token');
    return { token, seconds: typeof seconds === 'number' && seconds > 0 ? seconds : USUAL_SECONDS };
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** As the environment names it; undefined where Cortex is no client of the issuer. */
export function machineIdentityOf(
  settings: Pick<Settings, 'OAUTH_ISSUER' | 'CORTEX_TECHNICAL_CLIENT_ID' | 'CORTEX_TECHNICAL_CLIENT_SECRET'>,
  log: EdgeLog,
): MachineIdentity | undefined {
  const {
    OAUTH_ISSUER: issuer,
    CORTEX_TECHNICAL_CLIENT_ID: clientId,
    CORTEX_TECHNICAL_CLIENT_SECRET: clientSecret,
  } = settings;
  if (clientId === undefined || clientSecret === undefined) return undefined;
  return new MachineIdentity({ issuer, clientId, clientSecret, log });
}
