import type { IncomingMessage } from 'node:http';
import { isLoopback, type Settings } from '../settings.js';

const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i;

/** The name in a Host header or a list entry, lower case, without its port; null when it is none. */
export const hostName = (host: string | undefined): string | null => HOST.exec(host ?? '')?.[1]?.toLowerCase() ?? null;

/** Compared whole: `127.0.0.1.evil.example` is no loopback name. Source: gateway, section 11.2; threat T07. */
export function hostCheck(settings: Settings): (req: IncomingMessage) => boolean {
  const allowed = new Set([settings.canonicalHostname.toLowerCase(), ...settings.CORTEX_ALLOWED_HOSTS.map(hostName)]);
  return (req) => {
    const name = hostName(req.headers.host);
    return name !== null && (isLoopback(name) || allowed.has(name));
  };
}

/**
 * The origin that URLs in an answer begin with: that of the canonical URI, and where loopback names are one resource the
 * one that the client used, since strict clients refuse another (architecture, ruling 13).
 */
export function publicOrigin(settings: Settings, req: IncomingMessage): string {
  const name = settings.loopbackAliases ? hostName(req.headers.host) : null;
  if (name === null || !isLoopback(name)) return settings.canonicalOrigin;
  const url = new URL(settings.canonicalOrigin);
  return `${url.protocol}//${name}${url.port === '' ? '' : `:${url.port}`}`;
}
