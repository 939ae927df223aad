import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpRefusal, type HttpFront } from '../seams.js';
import type { Settings } from '../settings.js';
import { sameSecret } from '../auth/same-secret.js';
import { clientIp } from './client-ip.js';
import { answerPreflight, answerPublicPreflight, corsHeaders, PUBLIC_CORS } from './cors.js';
import { securityHeaders } from './headers.js';
import { hostCheck } from './host.js';
import { icon } from './icons.js';
import { IssuerMetadata } from './issuer-metadata.js';
import { canonicalPath, metadataResource, protectedResource } from './metadata.js';
import { originCheck } from './origin.js';
import { pathOf, refuseRoute } from './routes.js';
import { serverCard } from './server-card.js';
import { statusPage } from './status-page.js';

export interface HttpFrontOptions {
  settings: Settings;
  /** All scopes of the living tools. */
  scopes: () => readonly string[];
  log: (level: 'warn', message: string, fields: Record<string, unknown>) => void;
}

interface Document {
  type: string;
  body: string | Buffer;
  headers: readonly string[];
}

const FORBIDDEN_HOST = new HttpRefusal(403, '{"error":"forbidden_host"}');
const NO_ISSUER = new HttpRefusal(503, '{"error":"issuer_unavailable"}', { 'Retry-After': '5' });
const FORBIDDEN_ORIGIN = new HttpRefusal(403, '{"error":"forbidden_origin"}');
const MCP_ROUTES = ['/mcp', '/sse', '/messages'];
const ISSUER_METADATA = '/.well-known/oauth-authorization-server';
const SERVER_CARD = ['/mcp/server-card', '/.well-known/mcp/server-card.json'];
const originExempt = (path: string): boolean =>
  path === '/health' || path === '/ready' || path === '/mcp/server-card' || path.startsWith('/.well-known/');

/** Everything that is answered before anybody is asked who they are. */
export function createHttpFront({ settings, scopes, log }: HttpFrontOptions): HttpFront {
  const hostAllowed = hostCheck(settings);
  const originAllowed = originCheck(settings);
  const base = securityHeaders(settings);
  const card = JSON.stringify(serverCard(settings));
  const page = statusPage(settings);
  const mcpRoutes = [...MCP_ROUTES, canonicalPath(settings) || '/'];
  const issuer = settings.CORTEX_PROXY_AS_METADATA ? new IssuerMetadata(settings.OAUTH_ISSUER) : null;
  // Probes use addresses, and the metrics token proves more than a name does.
  const metricsToken = settings.CORTEX_METRICS_TOKEN && `Bearer ${settings.CORTEX_METRICS_TOKEN}`;
  const hostExempt = (req: IncomingMessage, path: string): boolean =>
    path === '/health' ||
    path === '/ready' ||
    (path === '/metrics' && metricsToken !== undefined && sameSecret(req.headers.authorization ?? '', metricsToken));

  const documentAt = (req: IncomingMessage, path: string): Document | null => {
    const resource = metadataResource(settings, path);
    if (resource) {
      const body = JSON.stringify(protectedResource(settings, req, resource, scopes));
      // The document depends on the loopback name of the client.
      const headers = [...PUBLIC_CORS, 'Cache-Control', 'public, max-age=60', 'Vary', 'Host'];
      return { type: 'application/json', body, headers };
    }
    if (SERVER_CARD.includes(path)) {
      const headers = [...PUBLIC_CORS, 'Cache-Control', 'public, max-age=3600'];
      return { type: 'application/mcp-server-card+json', body: card, headers };
    }
    if (path === '/') return { type: 'text/html; charset=utf-8', body: page, headers: ['Cache-Control', 'no-cache'] };
    const image = icon(path);
    return image && { type: 'image/png', body: image, headers: ['Cache-Control', 'public, max-age=3600'] };
  };

  return {
    admit(req) {
      const path = pathOf(req.url);
      if (!hostAllowed(req) && !hostExempt(req, path)) return FORBIDDEN_HOST;
      const { origin } = req.headers;
      if (origin === undefined || originExempt(path) || originAllowed(origin)) return undefined;
      log('warn', 'an origin was refused; add it to CORTEX_ALLOWED_ORIGINS if its page may use Cortex', {
        origin,
        path,
      });
      return FORBIDDEN_ORIGIN;
    },

    corsHeaders(req) {
      const { origin } = req.headers;
      return origin !== undefined && originAllowed(origin) ? corsHeaders(origin) : [];
    },

    preflight(req, res) {
      const path = pathOf(req.url);
      const isPublic = metadataResource(settings, path) !== null || [...SERVER_CARD, ISSUER_METADATA].includes(path);
      if (isPublic) answerPublicPreflight(res, base);
      else if (!mcpRoutes.includes(path)) refuse(res, base, refuseRoute('OPTIONS', req.url));
      else if (req.headers.origin !== undefined && !originAllowed(req.headers.origin)) {
        refuse(res, base, FORBIDDEN_ORIGIN);
      } else answerPreflight(req, res, base);
    },

    publicDocument(req, res) {
      if (req.method !== 'GET' && req.method !== 'HEAD') return false;
      const path = pathOf(req.url);
      if (issuer && path === ISSUER_METADATA) {
        void issuer.get().then((body) => {
          const headers = [...PUBLIC_CORS, 'Cache-Control', 'public, max-age=60'];
          if (body === null) refuse(res, [...base, ...PUBLIC_CORS], NO_ISSUER);
          else send(req, res, base, { type: 'application/json', body, headers });
        });
        return true;
      }
      const document = documentAt(req, path);
      if (document === null) return false;
      send(req, res, base, document);
      return true;
    },

    clientIp: (req) => clientIp(req, settings.CORTEX_TRUSTED_PROXY_HOPS),
  };
}

function send(req: IncomingMessage, res: ServerResponse, base: readonly string[], document: Document): void {
  const etag = `"${hash('sha256', document.body, 'base64url')}"`;
  const known = (req.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (known.includes(etag) || known.includes('*')) {
    res.writeHead(304, [...base, ...document.headers, 'ETag', etag]);
    res.end();
    return;
  }
  res.writeHead(200, [
    ...base,
    ...document.headers,
    'ETag',
    etag,
    'Content-Type',
    document.type,
    'Content-Length',
    String(Buffer.byteLength(document.body)),
  ]);
  res.end(req.method === 'HEAD' ? undefined : document.body);
}

function refuse(res: ServerResponse, base: readonly string[], refusal: HttpRefusal): void {
  res.writeHead(refusal.status, [
    ...base,
    ...Object.entries(refusal.headers).flat(),
    'Content-Type',
    'application/json',
    'Content-Length',
    String(Buffer.byteLength(refusal.body)),
  ]);
  res.end(refusal.body);
}
