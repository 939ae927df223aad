import { createHash, randomBytes } from 'node:crypto';

export interface Page {
  url: string;
  status: number;
  headers: Headers;
  text: string;
  /** Where the browser left the issuer for, if it did. */
  left: URL | null;
}

interface Sent {
  method?: string;
  body?: URLSearchParams;
  headers?: Record<string, string>;
}

interface Cookie {
  name: string;
  value: string;
  path: string;
}

/** What a person's browser does at an issuer: keeps cookies by path, follows redirects inside one origin, sends forms. */
export class Browser {
  #cookies: Cookie[] = [];

  async open(url: string | URL, init: Sent = {}): Promise<Page> {
    const { origin, pathname } = new URL(url);
    const cookie = this.#cookies
      .filter(({ path }) => pathname.startsWith(path))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
    const headers = { accept: 'text/html', 'sec-fetch-dest': 'document', cookie, ...init.headers };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    const text = await response.text();
    const page = { url: String(url), status: response.status, headers: response.headers, text, left: null };
    const location = response.headers.get('location');
    if (location === null) return page;
    const next = new URL(location, url);
    return next.origin === origin ? this.open(next) : { ...page, left: next };
  }

  /** Sends the form of a page as its own origin does. */
  submit(page: Page, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Page> {
    const { origin } = new URL(page.url);
    return this.open(page.url, { method: 'POST', body: new URLSearchParams(fields), headers: { origin, ...headers } });
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const path = attributes.find((one) => one.toLowerCase().startsWith('path='))?.slice(5) ?? '/';
    this.#cookies = this.#cookies.filter((cookie) => cookie.name !== name || cookie.path !== path);
    const gone = attributes.some((one) => /^expires=Thu, 01 Jan 1970/i.test(one));
    if (!gone) this.#cookies.push({ name, value, path });
  }
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  scope: string;
  error?: string;
  error_description?: string;
}

/** An OAuth client that does as it is told, right or wrong. */
export class RawClient {
  readonly verifier = randomBytes(32).toString('base64url');
  readonly challenge = createHash('sha256').update(this.verifier).digest('base64url');

  private constructor(
    readonly issuer: string,
    readonly id: string,
    readonly redirectUri: string,
  ) {}

  static register(issuer: string, metadata: Record<string, unknown> = {}): Promise<Response> {
    return fetch(`${issuer}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'Raw', redirect_uris: ['http://127.0.0.1:7777/callback'], ...metadata }),
    });
  }

  static async make(issuer: string, metadata: Record<string, unknown> = {}): Promise<RawClient> {
    const response = await RawClient.register(issuer, metadata);
    const body = (await response.json()) as { client_id: string; redirect_uris: string[] };
    if (response.status !== 201) throw new Error(JSON.stringify(body));
    return new RawClient(issuer, body.client_id, String(body.redirect_uris[0]));
  }

  /** Undefined leaves a parameter out. */
  authorizeUrl(parameters: Record<string, string | undefined> = {}): string {
    const all = {
      client_id: this.id,
      response_type: 'code',
      redirect_uri: this.redirectUri,
      code_challenge: this.challenge,
      code_challenge_method: 'S256',
      state: 's1',
      ...parameters,
    };
    const given = Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined);
    return `${this.issuer}/authorize?${String(new URLSearchParams(given))}`;
  }

  /** The whole way through the page. */
  async code(loginCode: string, parameters: Record<string, string | undefined> = {}): Promise<string> {
    const browser = new Browser();
    const page = await browser.open(this.authorizeUrl(parameters));
    const { left, text } = await browser.submit(page, { code: loginCode, decision: 'allow' });
    const code = left?.searchParams.get('code');
    if (!code) throw new Error(`no code: ${left?.href ?? text}`);
    return code;
  }

  async token(parameters: Record<string, string>): Promise<{ status: number; body: Tokens }> {
    const body = new URLSearchParams({ client_id: this.id, ...parameters });
    const response = await fetch(`${this.issuer}/token`, { method: 'POST', body });
    return { status: response.status, body: (await response.json()) as Tokens };
  }

  exchange(code: string, parameters: Record<string, string> = {}): Promise<{ status: number; body: Tokens }> {
    return this.token({
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.redirectUri,
      code_verifier: this.verifier,
      ...parameters,
    });
  }

  refresh(token: string): Promise<{ status: number; body: Tokens }> {
    return this.token({ grant_type: 'refresh_token', refresh_token: token });
  }
}
