import { createServer, type Server } from 'node:http';
import type { Secrets } from '@cortex/service-kit';
import { CliError, EXIT } from '../exit.js';

export interface Issuer {
  url: string;
  close(): Promise<void>;
}

const SCOPES = ['mcp:cortex:read', 'mcp:cortex:write', 'mcp:cortex:devices', 'mcp:cortex:admin'];

/**
 * The development issuer: serves the key set that `cortex token` signs for, and its metadata. It vouches for whoever can
 * read the home, so it never runs in production.
 */
export async function startIssuer(port: number, issuer: Secrets['issuer'], env: NodeJS.ProcessEnv): Promise<Issuer> {
  if (env['NODE_ENV'] === 'production') throw productionRefused();
  const { kty, n, e, kid, alg, use } = issuer.private_jwk;
  const url = `http://127.0.0.1:${port}`;
  const metadata = JSON.stringify({
    issuer: url,
    jwks_uri: `${url}/.well-known/jwks.json`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: SCOPES,
  });
  const documents = new Map([
    ['/.well-known/jwks.json', JSON.stringify({ keys: [{ kty, n, e, kid, alg, use }] })],
    ['/.well-known/oauth-authorization-server', metadata],
    ['/.well-known/openid-configuration', metadata],
  ]);
  const server = createServer((request, response) => {
    const document = documents.get(request.url?.split('?', 1)[0] ?? '');
    // Public documents: any page may read them.
    const headers = { 'content-type': 'application/json', 'access-control-allow-origin': '*' };
    if (document === undefined) {
      response.writeHead(404, headers).end('{"error":"not_found"}');
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { ...headers, allow: 'GET, HEAD' }).end('{"error":"method_not_allowed"}');
    } else {
      response.writeHead(200, { ...headers, 'cache-control': 'max-age=60' });
      response.end(request.method === 'HEAD' ? undefined : document);
    }
  });
  await listen(server, port);
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const productionRefused = (): CliError =>
  new CliError(
    'the development issuer is refused with NODE_ENV=production; set OAUTH_ISSUER to your authorization server',
    EXIT.usage,
  );

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new CliError(`issuer cannot listen on port ${port}: ${cause.message}`, EXIT.portTaken, { cause })),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
