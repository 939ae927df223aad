import { randomBytes } from 'node:crypto';
import type { Secrets } from '@cortex/service-kit';
import { errors, interactionPolicy, Provider, type JWK, type KoaContextWithOIDC } from 'oidc-provider';
import { KNOWN_SCOPES } from '../../scopes.js';
import { begin, grantable, PROTOCOL_SCOPES, showError } from './authorize.js';
import { LOGIN, ROUTES } from './front.js';
import { RefreshGrace } from './refresh-grace.js';
import { GRANT_TYPES, tidyRegistration } from './registration.js';
import { resourceCheck } from './resource.js';
import type { IssuerStore } from './store.js';

export interface ProviderOptions {
  url: string;
  key: Secrets['issuer'];
  store: IssuerStore;
  /** The home's endpoint, and what stands in `aud`. */
  canonicalUri: string;
  audience: string;
  /** The only account: `sub` of every token. */
  owner: string;
  tell: (text: string) => void;
}

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
/** Of a login as a whole, however often its tokens are renewed. */
const GRANT_S = 90 * DAY_S;
const REFRESH_S = 30 * DAY_S;

/**
 * OAuth 2.1 for one person: code with PKCE (S256), dynamic registration, resource indicators, refresh tokens that are used
 * once. No client ID metadata documents: they would let anybody make this process fetch an address, and stop every login
 * without a network; clients register where a server does not offer them.
 */
export function makeProvider(options: ProviderOptions): Provider {
  const { url, key, store, canonicalUri, audience, owner, tell } = options;
  const grace = new RefreshGrace();
  const isOurs = resourceCheck(canonicalUri, audience);
  const provider = new Provider(url, {
    adapter: store.adapter,
    jwks: { keys: [key.private_jwk as JWK] },
    routes: ROUTES,
    // Nothing that a cookie stands for outlives this process.
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    scopes: [...PROTOCOL_SCOPES, ...KNOWN_SCOPES.keys()],
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    clientDefaults: { grant_types: GRANT_TYPES, token_endpoint_auth_method: 'none' },
    // Called for this one field, and given all of them.
    extraClientMetadata: {
      properties: ['software_id'],
      validator: (_ctx, _name, _value, metadata) => tidyRegistration(metadata as Record<string, unknown>),
    },
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      // The edge knows bearer tokens only.
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => canonicalUri,
        useGrantedResource: () => true,
        getResourceServerInfo: ({ oidc }, resource) => {
          if (!isOurs(resource)) throw new errors.InvalidTarget(`resource is not this server; ask for ${canonicalUri}`);
          const { AuthorizationCode: code, RefreshToken: refresh } = oidc.entities;
          // Those of backends are not known here, so what was asked for counts; what was granted is in the grant.
          const asked = [oidc.params?.['scope'], code?.scope, refresh?.scope].flatMap(grantable);
          const scope = [...new Set([...KNOWN_SCOPES.keys(), ...asked])].join(' ');
          if (oidc.route === 'authorization' && grantable(oidc.params?.['scope']).length === 0) {
            throw new errors.InvalidScope(`scope names none that is known here; ask for some of ${scope}`, scope);
          }
          return { scope, audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } }, accessTokenTTL: HOUR_S };
        },
      },
    },
    ttl: {
      AccessToken: HOUR_S,
      AuthorizationCode: 60,
      Grant: GRANT_S,
      IdToken: HOUR_S,
      Interaction: HOUR_S / 4,
      RefreshToken: REFRESH_S,
      Session: HOUR_S,
    },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    // Who is the owner may have been changed since.
    findAccount: async (ctx, sub, token) => {
      if (token?.kind === 'RefreshToken' && ctx.oidc.route === 'token') await grace.check(ctx, token.jti);
      return sub === owner ? { accountId: sub, claims: async () => ({ sub }) } : undefined;
    },
    interactions: { policy: everyTime(), url: (_ctx, { uid }) => `${LOGIN}${uid}` },
    // Never what was allowed before: a page of another site could open the address again.
    loadExistingGrant: async ({ oidc }) => {
      const id = oidc.result?.consent?.grantId;
      return id === undefined ? undefined : oidc.provider.Grant.find(id);
    },
    clientBasedCORS: (_ctx, origin, client) =>
      (client.redirectUris ?? []).some((uri) => URL.parse(uri)?.origin === origin),
    fetch: async () => {
      throw new Error('the issuer fetches nothing');
    },
    renderError: (ctx, { error, error_description }) => showError(ctx, error, error_description),
  });
  provider.on('server_error', (_ctx, error) => tell(`issuer: ${error.stack ?? error.message}`));
  provider.use(async (ctx, next) => {
    if (ctx.path === ROUTES.authorization) return begin(ctx, next, url);
    if (ctx.path === ROUTES.token) return grace.around(ctx as KoaContextWithOIDC, next);
    await next();
    // `begin` refuses the others, which the library cannot turn off.
    if (isDocument(ctx.body)) ctx.body = { ...ctx.body, response_modes_supported: ['query'] };
  });
  return provider;
}

const isDocument = (body: unknown): body is Record<string, unknown> =>
  typeof body === 'object' && body !== null && 'response_modes_supported' in body;

/** One page for login and consent, whatever cookie the browser has; `prompt=none` therefore always fails. */
function everyTime(): interactionPolicy.Prompt[] {
  const { Check, Prompt } = interactionPolicy;
  const unanswered = new Check(
    'unanswered',
    'the owner has not allowed it yet',
    ({ oidc }) => oidc.result?.login === undefined,
  );
  return [
    new Prompt({ name: 'login', requestable: true }, unanswered),
    new Prompt({ name: 'consent', requestable: true }),
  ];
}
