const FRESH_MS = 600_000;
const TIMEOUT_MS = 5_000;
const MAX_CHARS = 256 * 1024;

/** Where an issuer publishes its metadata: RFC 8414 (the path goes behind the well-known part), else OpenID's form. */
export function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}

/**
 * A copy of the issuer's metadata for clients of 2025-03-26 and older, which look for it at the resource itself. An old
 * copy serves while the issuer is away; null when there never was one.
 */
export class IssuerMetadata {
  #copy: { text: string; at: number } | null = null;
  #loading: Promise<void> | undefined;

  constructor(
    private readonly issuer: string,
    private readonly now: () => number = Date.now,
  ) {}

  async get(): Promise<string | null> {
    if (this.#copy === null || this.now() - this.#copy.at >= FRESH_MS) {
      this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
      await this.#loading;
    }
    return this.#copy?.text ?? null;
  }

  async #load(): Promise<void> {
    for (const url of metadataUrls(this.issuer)) {
      const text = await fetchMetadata(url, this.issuer);
      if (text === null) continue;
      this.#copy = { text, at: this.now() };
      return;
    }
  }
}

/** Null when there is nothing usable; a document of another issuer is not (RFC 8414, section 3.3). */
async function fetchMetadata(url: string, issuer: string): Promise<string | null> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = await response.text();
    if (response.status !== 200 || text.length > MAX_CHARS) return null;
    const document = JSON.parse(text) as { issuer?: unknown } | null;
    return document?.issuer === issuer ? JSON.stringify(document) : null;
  } catch {
    return null;
  }
}
