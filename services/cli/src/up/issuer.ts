import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Secrets } from '@cortex/service-kit';
import { CliError, EXIT, messageOf } from '../exit.js';
import { answerJson, guard, isServed, LOGIN, refusal, registrationCors, ROUTES } from './issuer/front.js';
import { LoginCode } from './issuer/login-code.js';
import type { Login } from './issuer/login.js';
import { RegistrationLimit } from './issuer/registration-limit.js';

export interface Issuer {
  url: string;
  /** What its page asks for. */
  loginCode: string;
  close(): Promise<void>;
}

export interface IssuerOptions {
  port: number;
  /** Default loopback; a container listens everywhere, and what it publishes is loopback of its machine. */
  host?: string;
  /** Name by which the edge asks for the keys, where it runs in another container. */
  keysUnder?: string;
  key: Secrets['issuer'];
  /** Where clients and logins are kept. */
  file: string;
  canonicalUri: string;
  /** What stands in `aud`. */
  audience: string;
  /** `sub` of whoever knows the login code. */
  owner: string;
  env: NodeJS.ProcessEnv;
  tell: (text: string) => void;
}

type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/**
 * The development issuer: serves the key set that `cortex token` signs for, and logs clients in. It vouches for whoever
 * can read the home or the login code, so it never runs in production.
 */
export async function startIssuer(options: IssuerOptions): Promise<Issuer> {
  const { port, key, env, tell } = options;
  if (env['NODE_ENV'] === 'production') throw productionRefused();
  const url = `http://127.0.0.1:${port}`;
  const { kty, n, e, kid, alg, use } = key.private_jwk;
  const jwks = { keys: [{ kty, n, e, kid, alg, use }] };
  const code = new LoginCode();
  const registrations = new RegistrationLimit();
  let handler: Promise<Handler> | undefined;

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    guard(res);
    const path = req.url?.split('?', 1)[0] ?? '';
    const refused = refusal(req, path, url, options.keysUnder);
    if (refused !== null)
      return answerJson(res, refused.status, { error: 'forbidden', error_description: refused.text });
    if (!isServed(path)) return answerJson(res, 404, { error: 'not_found' });
    // One name for the library, which makes its addresses of it.
    req.headers.host = new URL(url).host;
    if (path === ROUTES.jwks) {
      // Public, and what the edge asks for at every start: not worth loading the rest.
      res.setHeader('access-control-allow-origin', '*').setHeader('cache-control', 'max-age=60');
      return answerJson(res, 200, jwks);
    }
    if (path === ROUTES.registration) {
      registrationCors(req, res);
      if (req.method === 'OPTIONS') return void res.writeHead(204).end();
      const wait = registrations.take();
      if (wait > 0) {
        res.setHeader('retry-after', String(wait));
        const text = `there were more than ${registrations.perMinute} registrations in a minute; try again in ${wait} s`;
        return answerJson(res, 429, { error: 'temporarily_unavailable', error_description: text });
      }
    }
    handler ??= load(options, url, code).catch((error: unknown) => {
      handler = undefined; // the next request tries again
      throw error;
    });
    await (
      await handler
    )(req, res);
  };

  const server = createServer((req, res) => {
    serve(req, res).catch((error: unknown) => {
      tell(`issuer: ${messageOf(error)}`);
      if (res.headersSent) res.destroy();
      else answerJson(res, 500, { error: 'server_error' });
    });
  });
  server.requestTimeout = 15_000;
  server.maxConnections = 200;
  await listen(server, port, options.host);
  return {
    url,
    loginCode: code.text,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** At the first login, so that no start pays for it. */
async function load(options: IssuerOptions, url: string, code: LoginCode): Promise<Handler> {
  const [{ makeProvider }, { Login }, { IssuerStore }] = await Promise.all([
    import('./issuer/provider.js'),
    import('./issuer/login.js'),
    import('./issuer/store.js'),
  ]);
  const provider = makeProvider({ ...options, url, store: new IssuerStore(options.file, options.tell) });
  const login: Login = new Login(provider, code, options.owner);
  const oauth = provider.callback();
  return async (req, res) => {
    if (req.url?.startsWith(LOGIN)) await login.serve(req, res);
    else await oauth(req, res);
  };
}

export const productionRefused = (): CliError =>
  new CliError(
    'the development issuer is refused with NODE_ENV=production; set OAUTH_ISSUER to your authorization server',
    EXIT.usage,
  );

const listen = (server: Server, port: number, host = '127.0.0.1'): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new CliError(`issuer cannot listen on port ${port}: ${cause.message}`, EXIT.portTaken, { cause })),
    );
    server.listen(port, host, resolve);
  });
