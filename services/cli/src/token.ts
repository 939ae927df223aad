import { createPrivateKey, randomUUID, sign, type JsonWebKey } from 'node:crypto';
import type { Secrets } from '@cortex/service-kit';
import { CliError, EXIT } from './exit.js';
import type { Home } from './home.js';
import { publicPorts } from './ports.js';
import { isScope, KNOWN_SCOPES, OWNER_SCOPES } from './scopes.js';
import { readSecrets } from './secrets.js';
import { productionRefused } from './up/issuer.js';
import { readState } from './up/state.js';

const DAY_S = 86_400;

export interface TokenOptions {
  sub?: string;
  /** Separated by blanks or commas. */
  scopes?: string;
  /** Seconds; default 12 hours. */
  ttlSeconds?: number;
}

/** What stands in `aud` of the tokens of a home. */
export const audienceOf = (canonicalUri: string, env: NodeJS.ProcessEnv): string =>
  env['OAUTH_AUDIENCE'] || canonicalUri;

export const ownerSub = (env: NodeJS.ProcessEnv): string => env['CORTEX_OWNER_SUB'] || 'owner';

/** Signs as the development issuer of this home: RS256, for this home's endpoint. */
export function makeToken(home: Home, env: NodeJS.ProcessEnv, options: TokenOptions = {}): string {
  if (env['NODE_ENV'] === 'production') throw productionRefused();
  const target = tokenTarget(home, env);
  const now = Math.floor(Date.now() / 1000);
  const scope = parseScopes(options.scopes);
  return signToken(readSecrets(home).issuer, {
    iss: target.issuer,
    aud: target.audience,
    sub: options.sub ?? ownerSub(env),
    client_id: 'cortex-cli',
    scope: scope.join(' '),
    jti: randomUUID(),
    iat: now,
    exp: now + (options.ttlSeconds ?? DAY_S / 2),
  });
}

/** Of `--scopes`, separated by blanks or commas; without it what the owner of a home has. */
export function parseScopes(text: string = OWNER_SCOPES): string[] {
  const scopes = text.split(/[\s,]+/).filter(Boolean);
  const unknown = scopes.filter((one) => !isScope(one));
  if (unknown.length === 0) return scopes;
  const known = [...KNOWN_SCOPES.keys()].join(' ');
  throw new CliError(
    `--scopes names what is unknown: ${unknown.join(' ')}; use some of ${known}, or one of a backend such as mcp:demo:read`,
    EXIT.usage,
  );
}

/** The line that makes Claude Code a client of this endpoint. */
export const claudeLine = (name: string, endpoint: string, bearer: string): string =>
  `claude mcp add --transport http ${name} ${endpoint} --header "Authorization: Bearer ${bearer}"`;

function tokenTarget(home: Home, env: NodeJS.ProcessEnv): { issuer: string; audience: string } {
  const external = () =>
    new CliError('tokens of this home come from OAUTH_ISSUER, whose key is not here; get one from there', EXIT.usage);
  const state = readState(home);
  if (state !== null) {
    if (state.issuer === null) throw external();
    return { issuer: state.issuer, audience: audienceOf(state.canonical_uri, env) };
  }
  if (env['OAUTH_ISSUER']) throw external();
  const ports = publicPorts(env);
  const endpoint = env['CORTEX_CANONICAL_URI'] || `http://127.0.0.1:${ports.public}/mcp`;
  return { issuer: `http://127.0.0.1:${ports.issuer}`, audience: audienceOf(endpoint, env) };
}

export function signToken(issuer: Secrets['issuer'], claims: Record<string, unknown>): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${encode({ alg: 'RS256', typ: 'at+jwt', kid: issuer.kid })}.${encode(claims)}`;
  const key = createPrivateKey({ key: issuer.private_jwk as JsonWebKey, format: 'jwk' });
  return `${body}.${sign('sha256', Buffer.from(body), key).toString('base64url')}`;
}

/** `90`, `90s`, `15m`, `12h`, `7d` in seconds. */
export function parseDuration(name: string, text: string): number {
  const [, amount, unit = 's'] = /^(\d+)\s*(s|m|h|d)?$/.exec(text.trim()) ?? [];
  const seconds = Number(amount) * { s: 1, m: 60, h: 3600, d: DAY_S }[unit as 's' | 'm' | 'h' | 'd'];
  if (seconds > 0 && seconds <= 365 * DAY_S) return seconds;
  throw new CliError(
    `${name} is no duration: ${JSON.stringify(text)}; use 90s, 15m, 12h or 7d, at most 365d`,
    EXIT.usage,
  );
}
