import { sha256Hex } from '@cortex/contracts';
import { isObject } from '@cortex/contracts/is-object';
import { compactVerify, type CryptoKey, errors, type JWSHeaderParameters } from 'jose';
import type { KeySource } from './jwks.js';
import { isRefusal, MALFORMED, refuse, type AuthReason, type AuthRefusal } from './refusal.js';
import { expandScopes, type ScopeImplications } from './scopes.js';

/** What may stand in `OAUTH_ALLOWED_ALGS`: asymmetric only, so no public key can ever serve as an HMAC secret. */
export const SIGNATURE_ALGS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

const TOKEN_LIMIT = 8 * 1024;
const BASE64URL = /^[A-Za-z0-9_-]+$/;
const CONTROL = /\p{Cc}/u;
const ACCESS_TOKEN = ['at+jwt', 'application/at+jwt'];
const TYPES = [undefined, 'jwt', ...ACCESS_TOKEN];

export interface VerifierOptions {
  keys: KeySource;
  /** Exact `iss`. */
  issuer: string;
  /** Every accepted `aud`; which of them a route takes is the route's question. */
  audiences: readonly string[];
  algs?: readonly string[];
  skewSeconds?: number;
  requireJti?: boolean;
  scopeImplies?: ScopeImplications;
  /** `session`: tokens that the session service mints; they are typed `at+jwt`, and only theirs `sid` says who calls. */
  kind?: 'person' | 'session';
  /** A token that was accepted only thanks to the clock skew; a metric. */
  onSkew?: () => void;
  /** Milliseconds; for tests. */
  now?: () => number;
}

/** A verified token. Missing optional claims are empty strings. Source: gateway, section 10.1. */
export interface VerifiedToken {
  issuer: string;
  sub: string;
  client_id: string;
  email: string;
  name: string;
  pool: string;
  role: string;
  jti: string;
  /** Key id of the header, or ''. */
  kid: string;
  /** Seconds since 1970. */
  exp: number;
  audiences: readonly string[];
  /** Expanded. */
  scopes: ReadonlySet<string>;
  sid?: string;
  claims: Readonly<Record<string, unknown>>;
}

type Json = Record<string, unknown>;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Checks bearer tokens of one issuer. Answers what the token says or why it is refused; never throws. */
export class TokenVerifier {
  readonly #options: Required<VerifierOptions>;

  constructor(options: VerifierOptions) {
    this.#options = {
      algs: ['RS256'],
      skewSeconds: 60,
      requireJti: true,
      scopeImplies: {},
      kind: 'person',
      onSkew: () => undefined,
      now: Date.now,
      ...options,
    };
    const bad = this.#options.algs.filter((alg) => !SIGNATURE_ALGS.some((known) => known === alg));
    if (bad.length > 0)
      throw new Error(`${bad.join(', ')} may not sign tokens; use some of ${SIGNATURE_ALGS.join(', ')}`);
  }

  async verify(token: string): Promise<VerifiedToken | AuthRefusal> {
    if (token.length > TOKEN_LIMIT) return refuse('too_large');
    const header = readHeader(token, this.#options.kind === 'session' ? ACCESS_TOKEN : TYPES);
    if (isRefusal(header)) return header;
    const { alg } = header;
    if (typeof alg !== 'string' || !this.#options.algs.includes(alg)) return refuse('alg');

    const { keys } = this.#options;
    const key = await keys.key(header);
    if (key === null) return refuse(keys.empty ? 'no_keys' : 'unknown_key');
    let payload = await signedBy(key, token, alg);
    if (payload === 'signature') {
      // An issuer may put a new key under an id that it used before.
      const other = await keys.renewed(header, key);
      if (other !== null) payload = await signedBy(other, token, alg);
    }
    if (typeof payload === 'string') return refuse(payload);
    const claims = parse(payload);
    return claims === null ? refuse('malformed') : this.#check(token, header, claims);
  }

  #check(token: string, header: JWSHeaderParameters, claims: Json): VerifiedToken | AuthRefusal {
    const { issuer, audiences: accepted, requireJti, scopeImplies, kind } = this.#options;
    if (claims.iss !== issuer) return refuse('issuer');
    const audiences = (Array.isArray(claims.aud) ? claims.aud : [claims.aud]).filter((a) => typeof a === 'string');
    if (!audiences.some((audience) => accepted.includes(audience))) return refuse('audience');
    const untimely = this.#checkTimes(claims);
    if (untimely) return untimely;

    const sub = text(claims.sub);
    if (sub === '') return refuse('no_sub');
    if (CONTROL.test(sub)) return MALFORMED.sub;
    const jti = text(claims.jti);
    if (jti === '' && requireJti) return refuse('no_jti');
    const sid = text(claims.sid);
    // A session token without its session would make its agent a person.
    if (kind === 'session' && sid === '') return MALFORMED.sid;

    const metadata = isObject(claims.metadata) ? claims.metadata : {};
    return Object.freeze({
      issuer,
      sub,
      client_id: text(claims.client_id) || text(claims.azp),
      email: text(claims.email),
      name: text(claims.name),
      pool: text(claims.pool),
      role: text(metadata.role),
      jti: jti || sha256Hex(token),
      kid: text(header.kid),
      exp: claims.exp as number,
      audiences,
      scopes: expandScopes(grantedScopes(claims), scopeImplies),
      ...(kind === 'session' && { sid }),
      claims: Object.freeze(claims),
    });
  }

  #checkTimes({ exp, nbf, iat }: Json): AuthRefusal | null {
    if (!isTime(exp) || (nbf !== undefined && !isTime(nbf)) || (iat !== undefined && !isTime(iat))) {
      return MALFORMED.times;
    }
    const { skewSeconds, onSkew, now } = this.#options;
    const seconds = now() / 1000;
    const from = Math.max(nbf ?? -Infinity, iat ?? -Infinity);
    if (exp + skewSeconds <= seconds) return refuse('expired');
    if (from - skewSeconds > seconds) return refuse('not_yet_valid');
    if (exp <= seconds || from > seconds) onSkew();
    return null;
  }
}

async function signedBy(key: CryptoKey, token: string, alg: string): Promise<Uint8Array | AuthReason> {
  try {
    return (await compactVerify(token, key, { algorithms: [alg] })).payload;
  } catch (error) {
    return refusalOf(error);
  }
}

function readHeader(token: string, types: readonly (string | undefined)[]): JWSHeaderParameters | AuthRefusal {
  const [head = '', payload = '', signature, ...rest] = token.split('.');
  // The signature may be empty in an unsigned token: its algorithm is what refuses that one.
  if (signature === undefined || rest.length > 0 || !BASE64URL.test(head) || !BASE64URL.test(payload))
    return refuse('malformed');
  const header = parse(Buffer.from(head, 'base64url'));
  if (header === null) return refuse('malformed');
  const { typ, kid } = header;
  if (typ !== undefined && typeof typ !== 'string') return refuse('malformed');
  if (kid !== undefined && typeof kid !== 'string') return refuse('malformed');
  return types.includes(typ?.toLowerCase()) ? header : MALFORMED.typ;
}

/** The `iss` that a token claims, unverified: it only chooses who verifies it. '' where there is none. */
export function claimedIssuer(token: string): string {
  if (token.length > TOKEN_LIMIT) return '';
  const claims = parse(Buffer.from(token.split('.', 2)[1] ?? '', 'base64url'));
  return text(claims?.iss);
}

function parse(bytes: Uint8Array): Json | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function grantedScopes({ scope, scp }: Json): string[] {
  if (typeof scope === 'string') return scope.split(' ').filter(Boolean);
  return Array.isArray(scp) ? scp.filter((s): s is string => typeof s === 'string' && s !== '') : [];
}

function refusalOf(error: unknown): AuthReason {
  if (error instanceof errors.JOSEAlgNotAllowed) return 'alg';
  if (error instanceof errors.JWSInvalid || error instanceof errors.JOSENotSupported) return 'malformed';
  return 'signature';
}
