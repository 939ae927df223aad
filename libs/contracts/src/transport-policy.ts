import { isIPv4 } from 'node:net';

/** What may be said of a URL that Cortex is to send something to. */
export type TransportVerdict =
  { allowed: true; url: URL; plaintext: 'no' | 'loopback' | 'remote' } | { allowed: false; problem: string };

const refused = (problem: string): TransportVerdict => ({ allowed: false, problem });

/**
 * The outbound rule for a URL that an operator configured: https anywhere, http to this machine, and http elsewhere only where `insecure`
 * says so. An address is compared as an address, so `127.0.0.1.evil.example` is remote. Source: gateway, section 23.
 */
export function transportVerdict(text: string, insecure: boolean): TransportVerdict {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return refused('is no absolute URL; give one like https://app.example.com');
  }
  // The URL itself is not repeated: what stands before the @ is a secret.
  if (url.username !== '' || url.password !== '') return refused('holds a user or a password; take it out of the URL');
  if (url.protocol === 'https:') return { allowed: true, url, plaintext: 'no' };
  if (url.protocol !== 'http:') return refused('is neither https nor http; use https');
  if (isThisMachine(url.hostname)) return { allowed: true, url, plaintext: 'loopback' };
  if (insecure) return { allowed: true, url, plaintext: 'remote' };
  return refused('is http to another machine; use https, or set CORTEX_ALLOW_INSECURE_BACKENDS=true');
}

/** Of a host as `URL` gives it: for http the parser has put every notation of an address into one form before. */
export const isThisMachine = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
