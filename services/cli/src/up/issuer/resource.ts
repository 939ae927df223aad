/** Names of this machine to itself; outside production they are one host. */
export const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

export const isLoopback = (hostname: string): boolean => LOOPBACK.includes(hostname.toLowerCase());

/**
 * Tells whether a `resource` (RFC 8707) is this home's endpoint: its canonical URI or the HTTP+SSE one of the same origin,
 * under any loopback name if the canonical one is such, with or without a slash at the end.
 */
export function resourceCheck(canonicalUri: string, audience: string): (resource: string) => boolean {
  const { origin, pathname, hostname, protocol, port } = new URL(canonicalUri);
  const origins = isLoopback(hostname)
    ? LOOPBACK.map((name) => `${protocol}//${name}${port === '' ? '' : `:${port}`}`)
    : [origin];
  const known = new Set([audience, ...origins.flatMap((one) => [plain(`${one}${pathname}`), `${one}/sse`])]);
  return (resource) => known.has(resource) || known.has(plain(resource));
}

/** Scheme and host in lower case, a default port and the last slash left out; '' for what is no URL. */
function plain(uri: string): string {
  return URL.canParse(uri) ? new URL(uri).href.replace(/\/$/, '') : '';
}
