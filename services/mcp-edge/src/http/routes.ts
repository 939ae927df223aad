import { HttpRefusal } from '../seams.js';

const MCP_METHODS = ['POST', 'GET', 'DELETE', 'OPTIONS'];
const DOCUMENT = ['GET', 'HEAD', 'OPTIONS'];
const PAGE = ['GET', 'HEAD'];

/** Paths of the public documents; `well-known` forms of a canonical URI with a path of its own are added to them. */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  '/mcp': MCP_METHODS,
  '/sse': ['GET', 'OPTIONS'],
  '/messages': ['POST', 'OPTIONS'],
  '/.well-known/oauth-protected-resource': DOCUMENT,
  '/.well-known/oauth-protected-resource/mcp': DOCUMENT,
  '/.well-known/oauth-protected-resource/sse': DOCUMENT,
  '/.well-known/oauth-authorization-server': DOCUMENT,
  '/.well-known/mcp/server-card.json': DOCUMENT,
  '/mcp/server-card': DOCUMENT,
  '/': PAGE,
  '/icon-light.png': PAGE,
  '/icon-dark.png': PAGE,
  '/health': PAGE,
  '/ready': PAGE,
  '/metrics': PAGE,
};

/** The path of a request target, without query and without the trailing slash that some clients add. */
export function pathOf(url: string | undefined): string {
  const path = (url ?? '/').split('?', 1)[0] ?? '/';
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** The answer to a request that no route takes: 405 with `Allow` on a known path, else 404. */
export function refuseRoute(method: string | undefined, url: string | undefined): HttpRefusal {
  const path = pathOf(url);
  const allowed = Object.hasOwn(METHODS, path) ? METHODS[path] : undefined;
  if (!allowed || allowed.includes(method ?? '')) return new HttpRefusal(404, '{"error":"not_found"}');
  return new HttpRefusal(405, '{"error":"method_not_allowed"}', { Allow: allowed.join(', ') });
}
