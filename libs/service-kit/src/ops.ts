import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HealthRegistry } from './health.js';
import type { Metrics } from './metrics.js';

/** Answers `/health`, `/ready` and `/metrics`; false when the path is none of them. */
export type OpsRoutes = (req: IncomingMessage, res: ServerResponse) => boolean;

export function opsRoutes(
  health: HealthRegistry,
  metrics: Metrics,
  services: readonly string[],
  version: string,
): OpsRoutes {
  const json = (res: ServerResponse, status: number, body: unknown) => {
    res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    res.end(JSON.stringify(body));
  };
  return (req, res) => {
    const path = req.url?.split('?', 1)[0];
    if (path !== '/health' && path !== '/ready' && path !== '/metrics') return false;
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.writeHead(405, { allow: 'GET, HEAD' }).end();
    } else if (path === '/health') {
      json(res, 200, { status: 'ok', version, services, uptime_s: Math.round(process.uptime()) });
    } else if (path === '/ready') {
      void health.report().then(({ ready, checks }) => json(res, ready ? 200 : 503, { ready, checks }));
    } else {
      metrics.text().then(
        (text) => res.writeHead(200, { 'content-type': metrics.registry.contentType }).end(text),
        () => res.writeHead(500).end(),
      );
    }
    return true;
  };
}
