import type { Settings } from '../settings.js';

const CSP = "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** Headers of every response, as the flat list that `writeHead` takes. Source: gateway, section 2.6. */
export function securityHeaders(settings: Pick<Settings, 'canonicalUri'>): readonly string[] {
  return [
    'X-Content-Type-Options',
    'nosniff',
    'X-Frame-Options',
    'DENY',
    'Referrer-Policy',
    'strict-origin-when-cross-origin',
    'Content-Security-Policy',
    CSP,
    ...(settings.canonicalUri.startsWith('https:') ? ['Strict-Transport-Security', 'max-age=31536000'] : []),
  ];
}
