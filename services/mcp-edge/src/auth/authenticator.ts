import type { IncomingMessage } from 'node:http';
import {
  isRefusal,
  JwksSource,
  refuse,
  TokenCache,
  TokenVerifier,
  type AuthRefusal,
  type CachedToken,
} from '@cortex/auth';
import { clientIp } from '../http/client-ip.js';
import { HttpRefusal, type Authenticator, type CallerContext, type ResourceKind } from '../seams.js';
import type { Settings } from '../settings.js';
import { personCaller } from './caller.js';
import { Challenges } from './challenge.js';
import { devBypass } from './dev-bypass.js';
import { FailureLimiter } from './failure-limiter.js';
import type { People } from './people.js';

export interface AuthenticatorOptions {
  settings: Settings;
  people: People;
  log: (level: 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;
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
  lacks?: 'pool' | 'scope';
}

const SCHEME = 'bearer ';
const TOKEN_IN_QUERY = /[?&](access_)?token=/i;

/** Who speaks: bearer token or development bypass, pool and baseline scopes. Source: gateway, section 10. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { settings, people, log, onRefused = () => undefined, onSkew, onStaleKeys } = options;
  const challenges = new Challenges(settings);
  const limiter = new FailureLimiter(settings.CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE);
  const bypass = devBypass(settings, people);
  const audiences = acceptedAudiences(settings);

  const keys = new JwksSource({
    url: settings.jwksUrl,
    maxStaleSeconds: settings.OAUTH_JWKS_MAX_STALE_SECONDS,
    log,
    ...(onStaleKeys && { onStale: onStaleKeys }),
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
  keys.onGone((kid) => tokens.dropKid(kid));

  if (settings.production && settings.CORTEX_DEV_BYPASS_TOKEN) {
    log('error', 'CORTEX_DEV_BYPASS_TOKEN is set in production; the bypass stays off, remove the variable');
  }

  async function admit(token: string): Promise<Admitted | AuthRefusal> {
    const verified = await verifier.verify(token);
    if (isRefusal(verified)) return verified;
    const { kid, exp, scopes } = verified;
    const audience = verified.audiences.find((a) => audiences.mcp.has(a) || audiences.sse.has(a)) ?? '';
    const id = await people.idOf(verified);
    const lacks =
      settings.CORTEX_REQUIRED_POOL !== undefined && verified.pool !== settings.CORTEX_REQUIRED_POOL
        ? ('pool' as const)
        : settings.OAUTH_REQUIRED_SCOPES.some((scope) => !scopes.has(scope))
          ? ('scope' as const)
          : undefined;
    const mcp = verified.audiences.some((a) => audiences.mcp.has(a));
    return { kid, exp, mcp, caller: personCaller({ ...verified, audience }, id, 'person'), lacks };
  }

  function refused(req: IncomingMessage, resource: ResourceKind, refusal: AuthRefusal): HttpRefusal {
    limiter.count(clientIp(req, settings.CORTEX_TRUSTED_PROXY_HOPS));
    onRefused(refusal.refused);
    return challenges.unauthorized(req, resource, refusal);
  }

  function settle(req: IncomingMessage, resource: ResourceKind, entry: Admitted | AuthRefusal) {
    if (isRefusal(entry)) return refused(req, resource, entry);
    if (resource === 'mcp' && !entry.mcp) return refused(req, resource, refuse('audience'));
    if (entry.lacks === undefined) return entry.caller;
    onRefused(entry.lacks);
    return entry.lacks === 'pool' ? challenges.wrongPool(req, resource) : challenges.missingBaseline(req, resource);
  }

  function failed(error: unknown): HttpRefusal {
    log('error', 'a caller could not be identified', { error });
    return new HttpRefusal(
      503,
      '{"error":"temporarily_unavailable","error_description":"people cannot be looked up just now"}',
      { 'Retry-After': '1' },
    );
  }

  return {
    authenticate(req, resource) {
      const wait = limiter.wait(clientIp(req, settings.CORTEX_TRUSTED_PROXY_HOPS));
      if (wait > 0) return tooManyFailures(wait);
      const dev = bypass(req);
      if (dev !== null) {
        log('warn', 'a request used the development bypass', { path: req.url?.split('?', 1)[0] });
        return dev instanceof Promise ? dev.catch(failed) : dev;
      }
      const token = bearerOf(req.headers.authorization);
      if (token === '') return refused(req, resource, withoutToken(req));
      const entry = tokens.get(token);
      if (!(entry instanceof Promise)) return settle(req, resource, entry);
      return entry.then((admitted) => settle(req, resource, admitted), failed);
    },
    authenticateSession: () => new HttpRefusal(401, '', {}, 'session'),
    scopeChallenge: (req, required) => challenges.insufficientScope(req, isSseRoute(req) ? 'sse' : 'mcp', required),
    close: () => tokens.clear(),
  };
}

/** Whatever follows the scheme; its form is the verifier's business, and a look at every character would cost as much as the hash. */
function bearerOf(header = ''): string {
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

/** Audiences by resource: the configured one, the twin with a trailing slash, and all loopback names of this port. */
function acceptedAudiences(settings: Settings): Record<ResourceKind, ReadonlySet<string>> {
  const aliases = (uri: string): string[] => {
    if (!settings.loopbackAliases || !uri.startsWith(settings.canonicalOrigin)) return [uri];
    const { port, protocol } = new URL(settings.canonicalOrigin);
    const rest = uri.slice(settings.canonicalOrigin.length);
    const names = ['127.0.0.1', 'localhost', '[::1]'];
    return names.map((name) => `${protocol}//${name}${port === '' ? '' : `:${port}`}${rest}`);
  };
  const all = (uri: string) => new Set(aliases(uri.replace(/\/$/, '')).flatMap((name) => [name, `${name}/`]));
  return { mcp: all(settings.audience), sse: all(`${settings.canonicalOrigin}/sse`) };
}
