import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLoopback } from './resource.js';

/** Paths of the issuer. The documents are where RFC 8414, OpenID and the edge look for them. */
export const ROUTES = {
  authorization: '/authorize',
  token: '/token',
  registration: '/register',
  revocation: '/revoke',
  jwks: '/.well-known/jwks.json',
} as const;
export const LOGIN = '/login/';

const DOCUMENTS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration', ROUTES.jwks];
const EXACT: ReadonlySet<string> = new Set([...Object.values(ROUTES), ...DOCUMENTS]);
const STEP = /^\/(login|authorize)\/[\w-]+$/;

/** The library's router takes other spellings too, which the checks here would not know. */
export const isServed = (path: string): boolean => EXACT.has(path) || STEP.test(path);

const SAFE: readonly (string | undefined)[] = ['GET', 'HEAD', 'OPTIONS'];

/** On every answer: it is shown in no frame, loads nothing, runs nothing, and tells no other site where it came from. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // Not `no-referrer`: with it a browser sends `Origin: null` with our own form.
  'referrer-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

export interface Refused {
  status: number;
  text: string;
}

/**
 * Whether a request may be looked at. A page of another site, or one that made its name resolve to this machine (DNS
 * rebinding), may read the public documents and no more; only this issuer's own page may send the login form. `keysUnder` is one more
 * name that gives the public keys and nothing else.
 */
export function refusal(req: IncomingMessage, path: string, issuer: string, keysUnder?: string): Refused | null {
  const { host = '', origin, 'sec-fetch-dest': dest = 'document' } = req.headers;
  const { port } = new URL(issuer);
  if (keysUnder !== undefined && path === ROUTES.jwks && host === `${keysUnder}:${port}`) return null;
  const named = URL.parse(`http://${host}`);
  if (named === null || named.host !== host.toLowerCase() || !isLoopback(named.hostname) || named.port !== port) {
    return { status: 403, text: `host is not this issuer's; open ${issuer}` };
  }
  const page = path.startsWith(LOGIN) || path.startsWith(ROUTES.authorization);
  if (page && dest !== 'document') return { status: 403, text: 'page is in a frame; open it in a window of its own' };
  if (DOCUMENTS.includes(path)) return null;
  if (page) {
    const own = origin === issuer || (origin === undefined && SAFE.includes(req.method));
    return own ? null : { status: 403, text: "origin is not this issuer's; log in on its own page" };
  }
  const local = origin === undefined || isLoopback(URL.parse(origin)?.hostname ?? '');
  return local ? null : { status: 403, text: 'origin is another site; only pages of this machine may use the issuer' };
}

export function guard(res: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value);
}

/** The library answers browsers everywhere but at the registration. */
export function registrationCors(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.origin === undefined) return;
  res.setHeader('vary', 'Origin');
  res.setHeader('access-control-allow-origin', req.headers.origin);
  res.setHeader('access-control-allow-methods', 'POST');
  res.setHeader('access-control-allow-headers', 'content-type, mcp-protocol-version');
}

export function answerJson(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
