import { isLoopback, type Settings } from '../settings.js';

/**
 * Which origins may speak to the edge: exact entries, `*.suffix` entries on label borders with their apex, and outside
 * production every loopback one. `null` and what cannot be parsed never. Source: gateway, section 11.1.
 */
export function originCheck(settings: Settings): (origin: string) => boolean {
  const entries = settings.CORTEX_ALLOWED_ORIGINS.map((entry) => entry.toLowerCase());
  const exact = new Set(entries.filter((entry) => !entry.startsWith('*.')).map((entry) => entry.replace(/\/$/, '')));
  const suffixes = entries.filter((entry) => entry.startsWith('*.')).map((entry) => entry.slice(1));
  return (origin) => {
    const url = URL.canParse(origin) ? new URL(origin) : null;
    // What a browser sends is the serialised origin and nothing more; anything else was made by hand.
    if (url === null || url.origin !== origin.toLowerCase() || !/^https?:$/.test(url.protocol)) {
      return exact.has(origin.toLowerCase()) && origin !== 'null';
    }
    if (exact.has(url.origin) || (!settings.production && isLoopback(url.hostname))) return true;
    return suffixes.some((suffix) => url.hostname.endsWith(suffix) || url.hostname === suffix.slice(1));
  };
}
