import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, type Provider } from 'oidc-provider';
import { grantable, PROTOCOL_SCOPES } from './authorize.js';
import type { LoginCode } from './login-code.js';
import { loginPage, messagePage, type Html } from './page.js';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

const BODY_LIMIT = 4_096;

/** The one page: shows who asks for what, and approves only with the login code. */
export class Login {
  constructor(
    private readonly provider: Provider,
    private readonly code: LoginCode,
    private readonly owner: string,
  ) {}

  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const waiting = await this.#waiting(req, res);
    if (waiting === null) {
      const text =
        'This login waits no longer: it was finished, took too long, belongs to another browser, or Cortex was restarted.';
      return send(res, 400, messagePage('Start again', `${text} Start it again in the client.`));
    }
    const scopes = grantable(waiting.params['scope']);
    if (req.method !== 'POST') return this.#show(res, 200, waiting, scopes);
    const form = await bodyOf(req);
    if (form === null) return send(res, 413, messagePage('Too much', 'The form holds more than a login code.'));
    if (form.get('decision') === 'deny') {
      const error_description = 'the owner did not allow it';
      return this.provider.interactionFinished(req, res, { error: 'access_denied', error_description });
    }
    const { ok, locked } = this.code.check(form.get('code') ?? '');
    if (ok) return this.#allow(req, res, waiting, scopes);
    if (locked > 0) res.setHeader('retry-after', String(locked));
    const problem = locked > 0 ? lockedText(locked) : 'This is not the login code.';
    return this.#show(res, locked > 0 ? 429 : 403, waiting, scopes, problem);
  }

  /** What the browser with this cookie was asked; null when there is nothing such. */
  async #waiting(req: IncomingMessage, res: ServerResponse): Promise<Interaction | null> {
    try {
      const found = await this.provider.interactionDetails(req, res);
      return req.url === `/login/${found.uid}` ? found : null;
    } catch (error) {
      if (error instanceof errors.SessionNotFound) return null;
      throw error;
    }
  }

  async #show(
    res: ServerResponse,
    status: number,
    { params }: Interaction,
    scopes: readonly string[],
    problem?: string,
  ): Promise<void> {
    const clientId = String(params['client_id']);
    const client = await this.provider.Client.find(clientId);
    const redirectUri = String(params['redirect_uri']);
    send(res, status, loginPage({ clientName: client?.clientName, clientId, redirectUri, scopes, problem }));
  }

  async #allow(
    req: IncomingMessage,
    res: ServerResponse,
    waiting: Interaction,
    scopes: readonly string[],
  ): Promise<void> {
    const grant = new this.provider.Grant({ accountId: this.owner, clientId: String(waiting.params['client_id']) });
    // The library counts every scope of its metadata as one of OpenID too.
    grant.addOIDCScope([...PROTOCOL_SCOPES, ...scopes].join(' '));
    for (const resource of [waiting.params['resource']].flat()) {
      grant.addResourceScope(String(resource), scopes.join(' '));
    }
    const grantId = await grant.save();
    const login = { accountId: this.owner, remember: false };
    await this.provider.interactionFinished(req, res, { login, consent: { grantId } });
  }
}

const lockedText = (seconds: number): string =>
  `There were too many wrong codes, so none is looked at for ${seconds} s. Then try again with the one that \`cortex status\` prints.`;

function send(res: ServerResponse, status: number, { html, csp }: Html): void {
  res.setHeader('content-security-policy', csp);
  res.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(html);
}

/** Null when it is too long. */
async function bodyOf(req: IncomingMessage): Promise<URLSearchParams | null> {
  let text = '';
  for await (const chunk of req.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > BODY_LIMIT) return null;
  }
  return new URLSearchParams(text);
}
