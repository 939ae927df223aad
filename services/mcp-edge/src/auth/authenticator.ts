import type { IncomingMessage } from 'node:http';
import {
  Introspection,
  type IntrospectionVerdict,
  isRefusal,
  JwksSource,
  refuse,
  TokenCache,
  TokenVerifier,
  type AuthReason,
  type AuthRefusal,
  type CachedToken,
} from '@cortex/auth';
import type { Bus } from '@cortex/bus';
import { clientIp } from '../http/client-ip.js';
import {
  HttpRefusal,
  type Authenticator,
  type CallerContext,
  type ResourceKind,
  type SessionClaims,
} from '../seams.js';
import type { Settings } from '../settings.js';
import { bearerOf, withBearer } from './bearer.js';
import { personCaller } from './caller.js';
import { Challenges } from './challenge.js';
import { devBypass } from './dev-bypass.js';
import { FailureLimiter } from './failure-limiter.js';
import type { People, PersonSeen } from './people.js';
import { SessionDoor, type SessionViews, type Standing } from './session-door.js';

export interface AuthenticatorOptions {
  settings: Settings;
  people: People;
  bus: Bus;
  views: SessionViews;
  log: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;
  /** A refused authentication, by the words of gateway section 10.3; for the counter. */
  onRefused?: (reason: string) => void;
  /** A token that was accepted only thanks to the clock skew. */
  onSkew?: () => void;
  /** Old keys are used because the issuer is away, or no longer. */
  onStaleKeys?: (stale: boolean) => void;
}

/** A verified token with what follows from it and the settings alone. */
interface Admitted extends CachedToken {
  caller: CallerContext;
  /** Which resources its audience covers. */
  mcp: boolean;
}

type Settled = CallerContext | HttpRefusal;

const SCHEME = 'bearer ';
/** Seconds after which a client may look whether the issuer can be asked again. */
const ISSUER_AWAY_S = 5;
/** Stands for the id of somebody whose token is explained and who never came. */
const NEVER_SEEN = 'per_never_seen';
/** Refusals that say nothing of the token, and seconds after which to come back: RFC 6750 has no word for them. */
const NOT_NOW: Partial<Record<AuthReason, number>> = { view_behind: 1, no_keys: ISSUER_AWAY_S };
const TOKEN_IN_QUERY = /[?&](access_)?token=/i;

/** Who speaks: bearer token or development bypass. Source: gateway, section 10. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { settings, people, log, onRefused = () => undefined, onSkew } = options;
  const challenges = new Challenges(settings);
  const limiter = new FailureLimiter(settings.CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE);
  const bypass = devBypass(settings, people);
  const audiences = acceptedAudiences(settings);
  const stale = new Set<string>();
  /** Two key sets, one metric: it is over when both are fresh. */
  const onStale = (whose: string) => (now: boolean) => {
    if (now) stale.add(whose);
    else stale.delete(whose);
    options.onStaleKeys?.(stale.size > 0);
  };
  const sessions = new SessionDoor({ ...options, audiences: [...audiences.own], onStaleKeys: onStale('sessions') });

  const keys = new JwksSource({
    url: settings.jwksUrl,
    maxStaleSeconds: settings.OAUTH_JWKS_MAX_STALE_SECONDS,
    log,
    onStale: onStale('people'),
  });
  const verifier = new TokenVerifier({
    keys,
    issuer: settings.OAUTH_ISSUER,
    audiences: [...audiences.mcp, ...audiences.sse],
    algs: settings.OAUTH_ALLOWED_ALGS,
    skewSeconds: settings.OAUTH_CLOCK_SKEW_SECONDS,
    requireJti: settings.OAUTH_REQUIRE_JTI,
    scopeImplies: settings.CORTEX_SCOPE_IMPLIES,
    ...(onSkew && { onSkew }),
  });
  const tokens = new TokenCache<Admitted>({ verify: admit, skewSeconds: settings.OAUTH_CLOCK_SKEW_SECONDS });
  for (const source of [keys, sessions.keys]) source.onGone((kid) => tokens.dropKid(kid));

  const { OAUTH_INTROSPECT_FAIL_MODE: failMode, OAUTH_INTROSPECT_CACHE_TTL_SECONDS: cacheSeconds } = settings;
  const introspection =
    settings.introspection && new Introspection({ ...settings.introspection, cacheSeconds, failMode, log });
  if (introspection !== undefined && failMode === 'open')
    log('warn', 'OAUTH_INTROSPECT_FAIL_MODE is open: whoever blocks the way to the issuer lets revoked tokens pass');
  if (settings.production && settings.CORTEX_DEV_BYPASS_TOKEN) {
    log('error', 'CORTEX_DEV_BYPASS_TOKEN is set in production; the bypass stays off, remove the variable');
  }

  function admit(token: string): Promise<Admitted | AuthRefusal> {
    return verified(token, (person) => people.idOf(person));
  }

  async function verified(
    token: string,
    idOf: (person: PersonSeen) => string | Promise<string>,
  ): Promise<Admitted | AuthRefusal> {
    if (sessions.isFor(token)) {
      const admitted = await sessions.admit(token);
      return isRefusal(admitted) ? admitted : { ...admitted, mcp: true };
    }
    const said = await verifier.verify(token);
    if (isRefusal(said)) return said;
    const { kid, exp } = said;
    const audience = said.audiences.find((a) => audiences.mcp.has(a) || audiences.sse.has(a)) ?? '';
    const id = await idOf(said);
    const mcp = said.audiences.some((a) => audiences.mcp.has(a));
    const owner = said.issuer === settings.OAUTH_ISSUER && said.sub === settings.CORTEX_OWNER_SUB;
    return { kid, exp, mcp, caller: withBearer(personCaller({ ...said, audience }, id, 'person', owner), token) };
  }

  /** Of a bearer: the challenge says where to go on. */
  const bearerRefusal =
    (req: IncomingMessage, resource: ResourceKind) =>
    (refusal: AuthRefusal): HttpRefusal => {
      if (refusal.refused in NOT_NOW) return untold(refusal);
      // That we cannot ask the issuer is no failure of the caller's, and whoever shows a token that was good guesses nothing.
      if (refusal.refused !== 'introspection' && refusal.refused !== 'session_closed')
        limiter.count(clientIp(req, settings.CORTEX_TRUSTED_PROXY_HOPS));
      onRefused(refusal.refused);
      return challenges.unauthorized(req, resource, refusal);
    };

  function plainRefusal(refusal: AuthRefusal): HttpRefusal {
    if (refusal.refused in NOT_NOW) return untold(refusal);
    onRefused(refusal.refused);
    return new HttpRefusal(401, bodyOf('invalid_token', refusal.description), {}, refusal.refused);
  }

  function untold({ refused, description }: AuthRefusal): HttpRefusal {
    onRefused(refused);
    return notNow(description, refused, NOT_NOW[refused]);
  }

  function failed(error: unknown): HttpRefusal {
    log('error', 'a caller could not be identified', { error });
    return notNow('people cannot be looked up just now');
  }

  function settle(req: IncomingMessage, resource: ResourceKind, entry: Admitted | AuthRefusal) {
    const no = bearerRefusal(req, resource);
    if (isRefusal(entry)) return no(entry);
    if (entry.caller.session !== undefined) return settleAgent(entry.caller, entry.caller.session, no);
    if (resource === 'mcp' && !entry.mcp) return no(refuse('audience'));
    return introspection === undefined ? entry.caller : settleAsked(entry.caller, introspection, no);
  }

  /** A token may have been revoked since it was verified, so what the issuer says of it has an age of its own. */
  function settleAsked(caller: CallerContext, issuer: Introspection, no: (refusal: AuthRefusal) => HttpRefusal) {
    const judge = (verdict: IntrospectionVerdict): Settled => {
      const refusal = refusalOf(verdict);
      if (refusal === undefined) return caller;
      if (verdict !== 'unreachable') return no(refusal);
      onRefused(refusal.refused);
      return notNow(refusal.description, refusal.refused, ISSUER_AWAY_S);
    };
    const verdict = issuer.verdict(caller.jti ?? '', bearerOf(caller) ?? '');
    return verdict instanceof Promise ? verdict.then(judge) : judge(verdict);
  }

  /** A session, or the run in it, may have ended since its token was verified, so it is looked at for every request. */
  function settleAgent(caller: CallerContext, session: SessionClaims, no: (refusal: AuthRefusal) => HttpRefusal) {
    const judge = (standing: Standing): Settled => (standing === 'open' ? caller : no(refuse(standing)));
    const standing = sessions.standing(session);
    return standing instanceof Promise ? standing.then(judge) : judge(standing);
  }

  function settleSession(entry: Admitted | AuthRefusal): Settled | Promise<Settled> {
    if (isRefusal(entry)) return plainRefusal(entry);
    const { caller } = entry;
    return caller.session === undefined
      ? plainRefusal(refuse('issuer'))
      : settleAgent(caller, caller.session, plainRefusal);
  }

  return {
    authenticate(req, resource) {
      const wait = limiter.wait(clientIp(req, settings.CORTEX_TRUSTED_PROXY_HOPS));
      // Who guesses must not shut out who stands beside him at the same address with a good token.
      if (wait > 0 && !tokens.knows(bearerIn(req.headers.authorization))) return tooManyFailures(wait);
      const dev = bypass(req);
      if (dev !== null) {
        log('warn', 'a request used the development bypass', { path: req.url?.split('?', 1)[0] });
        return dev instanceof Promise ? dev.catch(failed) : dev;
      }
      const token = bearerIn(req.headers.authorization);
      if (token === '') return bearerRefusal(req, resource)(withoutToken(req));
      const entry = tokens.get(token);
      if (!(entry instanceof Promise)) return settle(req, resource, entry);
      return entry.then((admitted) => settle(req, resource, admitted), failed);
    },
    authenticateSession(token) {
      // A person's token is not looked at, so that it costs nothing and leaves nothing in the cache.
      if (!sessions.isFor(token)) return settleSession(refuse('issuer'));
      const entry = tokens.get(token);
      return entry instanceof Promise ? entry.then(settleSession, failed) : settleSession(entry);
    },
    async examine(token) {
      const entry = await verified(token, async (person) => (await people.find(person)) ?? NEVER_SEEN);
      if (isRefusal(entry)) return entry;
      const { caller } = entry;
      if (caller.session !== undefined) return caller; // that its session is open was seen just now
      if (!entry.mcp) return refuse('audience');
      return refusalOf(introspection === undefined ? 'active' : await introspection.ask(token)) ?? caller;
    },
    scopeChallenge: (req, required) => challenges.insufficientScope(req, isSseRoute(req) ? 'sse' : 'mcp', required),
    close: () => tokens.clear(),
  };
}

/** Whatever follows the scheme; its form is the verifier's business, and a look at every character would cost as much as the hash. */
function bearerIn(header = ''): string {
  const scheme = header.slice(0, SCHEME.length).toLowerCase();
  return scheme === SCHEME ? header.slice(SCHEME.length).trim() : '';
}

function withoutToken({ headers, url = '' }: IncomingMessage): AuthRefusal {
  if (headers.authorization !== undefined && /^bearer/i.test(headers.authorization)) return refuse('malformed');
  return refuse(TOKEN_IN_QUERY.test(url) ? 'in_query' : 'missing');
}

const isSseRoute = ({ url = '' }: IncomingMessage): boolean => /^\/(sse|messages)([/?]|$)/.test(url);

const tooManyFailures = (wait: number): HttpRefusal =>
  new HttpRefusal(429, '{"jsonrpc":"2.0","error":{"code":429,"message":"Rate limit exceeded"}}', {
    'Retry-After': String(wait),
  });

const bodyOf = (error: string, error_description: string): string => JSON.stringify({ error, error_description });

const notNow = (description: string, reason?: AuthReason, seconds = 1): HttpRefusal =>
  new HttpRefusal(503, bodyOf('temporarily_unavailable', description), { 'Retry-After': String(seconds) }, reason);

function refusalOf(verdict: IntrospectionVerdict): AuthRefusal | undefined {
  if (verdict === 'active') return undefined;
  return refuse(verdict === 'revoked' ? 'revoked' : 'introspection');
}

/**
 * Audiences by resource: the configured one, the twin with a trailing slash, and all loopback names of this port. `own` are
 * those of session tokens, which know no other name than the canonical one.
 */
function acceptedAudiences(settings: Settings): Record<ResourceKind | 'own', ReadonlySet<string>> {
  const aliases = (uri: string): string[] => {
    if (!settings.loopbackAliases || !uri.startsWith(settings.canonicalOrigin)) return [uri];
    const { port, protocol } = new URL(settings.canonicalOrigin);
    const rest = uri.slice(settings.canonicalOrigin.length);
    const names = ['127.0.0.1', 'localhost', '[::1]'];
    return names.map((name) => `${protocol}//${name}${port === '' ? '' : `:${port}`}${rest}`);
  };
  const all = (uri: string) => new Set(aliases(uri.replace(/\/$/, '')).flatMap((name) => [name, `${name}/`]));
  return {
    mcp: all(settings.audience),
    sse: all(`${settings.canonicalOrigin}/sse`),
    own: new Set([settings.canonicalUri]),
  };
}
