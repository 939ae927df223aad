import { errors } from 'oidc-provider';
import { isLoopback } from './resource.js';

/** What of a registration (RFC 7591) is kept. Of addresses none but where the browser is sent: nothing is ever fetched. */
const KEPT: ReadonlySet<string> = new Set([
  'client_id',
  'client_id_issued_at',
  'client_name',
  'client_secret',
  'client_secret_expires_at',
  'grant_types',
  'redirect_uris',
  'response_types',
  'token_endpoint_auth_method',
]);
export const GRANT_TYPES = ['authorization_code', 'refresh_token'];
const NAME_LIMIT = 100;
const REDIRECTS_LIMIT = 10;
const REDIRECT_LIMIT = 500;

/**
 * Brings the metadata of a client into the shape that this issuer serves, as RFC 7591 section 2 allows. The library checks
 * what is left. Throws InvalidClientMetadata or InvalidRedirectUri.
 */
export function tidyRegistration(metadata: Record<string, unknown>): void {
  for (const name of Object.keys(metadata)) if (!KEPT.has(name)) delete metadata[name];
  // The library makes one before it knows that the default is `none`.
  if ((metadata['token_endpoint_auth_method'] ?? 'none') === 'none') {
    delete metadata['client_secret'];
    delete metadata['client_secret_expires_at'];
  }
  const { client_name: name, redirect_uris: redirects, grant_types: grants } = metadata;
  if (typeof name === 'string' && name.length > NAME_LIMIT) {
    throw new errors.InvalidClientMetadata(`client_name is longer than ${NAME_LIMIT} characters; shorten it`);
  }
  if (Array.isArray(grants)) metadata['grant_types'] = grants.filter((grant) => GRANT_TYPES.includes(grant as string));
  if (!Array.isArray(redirects)) return; // the library says that it is missing
  const texts = redirects.filter((uri) => typeof uri === 'string'); // the library refuses the others
  if (redirects.length > REDIRECTS_LIMIT || texts.some((uri) => uri.length > REDIRECT_LIMIT)) {
    throw new errors.InvalidRedirectUri(
      `redirect_uris has more than ${REDIRECTS_LIMIT} entries or one of more than ${REDIRECT_LIMIT} characters; register fewer`,
    );
  }
  const parsed = texts.map((uri) => URL.parse(uri));
  for (const uri of parsed) {
    if (uri !== null && uri.username + uri.password !== '') {
      throw new errors.InvalidRedirectUri('redirect_uris holds a user name; leave it out');
    }
  }
  // A native client may come back on another loopback port than it registered (RFC 8252, 7.3), over http on loopback only,
  // or by a scheme of its own. Whoever registers as `web` means the same when it runs on a developer's machine.
  const claimsLocalHttps = parsed.some((uri) => uri?.protocol === 'https:' && isLoopback(uri.hostname));
  const plainElsewhere = parsed.some((uri) => uri?.protocol === 'http:' && !isLoopback(uri.hostname));
  if (plainElsewhere) throw new errors.InvalidRedirectUri('redirect_uris has http: to another machine; use https:');
  metadata['application_type'] = claimsLocalHttps ? 'web' : 'native';
}
