import { schemaOf, type ServiceName } from '@cortex/contracts/services';
import type { Secrets } from '@cortex/service-kit';
import type { UpState } from './state.js';
import type { Home } from '../home.js';
import { ownerSub } from '../token.js';

/** Of our own environment a service gets what the system needs and what is a setting of Cortex; nothing else is inherited. */
const SYSTEM = /^(PATH|HOME|USER|SHELL|TMPDIR|TZ|LANG|LC_.*|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY)$/i;
const SETTINGS = /^(NODE_ENV|NODE_EXTRA_CA_CERTS|OTEL_|OAUTH_|CORTEX_|RATE_LIMIT_DISABLED|CRON_SECRET|SLACK_|FEISHU_)/;
/** How servers elsewhere are reached, and whether they may be without TLS. */
const WAY = /^(NODE_ENV|NODE_EXTRA_CA_CERTS|CORTEX_ALLOW_INSECURE_SERVERS|CORTEX_NATS_(CA|CERT|KEY)_FILE)$/;
/** Names of variables that hold a secret. */
export const SECRET = /(SECRET|TOKEN|PASSWORD|CREDS|KEY|KEYS_OLD)$/;
/** Settings of the launcher itself. */
const LAUNCHER = ['CORTEX_NATS_SERVER', 'CORTEX_TOOLS', 'CORTEX_ISSUER_PORT'];

/** Secret variables that are not the edge's. */
const OWNERS: Readonly<Record<string, readonly ServiceName[]>> = {
  CORTEX_CLIENT_TOKEN: ['remote-ops'],
  CORTEX_DEVICE_SERVER_KEY: ['remote-ops'],
  CORTEX_SESSION_KEY: ['session'],
  CORTEX_SESSION_KEYS_OLD: ['session'],
  CORTEX_TICKET_WEBHOOK_SECRET: ['ticket'],
  CORTEX_AUDIT_ANCHOR_KEY: ['audit'],
  CORTEX_WEBHOOK_TOKEN: ['mcp-edge', 'session'],
  SLACK_BOT_TOKEN: ['session'],
  FEISHU_APP_SECRET: ['session'],
};
const ownersOf = (variable: string): readonly ServiceName[] => OWNERS[variable] ?? ['mcp-edge'];
const isOf = (services: readonly ServiceName[], variable: string): boolean =>
  ownersOf(variable).some((owner) => services.includes(owner));

/** Of the secrets of an installation those that these services are given by name; passwords are apart. */
export function ownSecrets(services: readonly ServiceName[], secrets: Secrets): Record<string, string> {
  const made: Record<string, string> = {
    CORTEX_AUDIT_HASH_KEY: secrets.audit_hash_key,
    CORTEX_STATE_KEY: secrets.state_key,
    CORTEX_ADMIN_SECRET: secrets.admin_secret,
    CRON_SECRET: secrets.cron_secret,
    CORTEX_WEBHOOK_TOKEN: secrets.webhook_token,
    CORTEX_CLIENT_TOKEN: secrets.client_token,
    CORTEX_DEVICE_SERVER_KEY: secrets.device_server_key,
    CORTEX_SESSION_KEY: secrets.session_key,
    CORTEX_AUDIT_ANCHOR_KEY: secrets.audit_anchor_key,
  };
  return Object.fromEntries(Object.entries(made).filter(([name]) => isOf(services, name)));
}

/**
 * Environment of a process that holds these services. One that holds several of them reads passwords and the device key from
 * `secrets.json`; one that holds a single service is given its own, and no other's secret.
 */
export function serviceEnvironment(
  services: readonly ServiceName[],
  home: Home,
  state: UpState,
  secrets: Secrets,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const inherited = Object.entries(env).filter(
    ([name]) =>
      (SYSTEM.test(name) || SETTINGS.test(name)) &&
      !LAUNCHER.includes(name) &&
      (!SECRET.test(name) || isOf(services, name)),
  );
  return {
    ...ownSecrets(services, secrets),
    ...(services.length === 1 && ownPasswords(services[0], secrets)),
    ...(services.includes('mcp-edge') && { CORTEX_TOOL_BASELINE_FILE: home.toolBaseline }),
    ...Object.fromEntries(inherited),
    ...(state.issuer !== null && {
      OAUTH_ISSUER: state.issuer,
      OAUTH_JWKS_URL: `${state.issuer}/.well-known/jwks.json`,
      CORTEX_OWNER_SUB: ownerSub(env),
    }),
    NODE_COMPILE_CACHE: home.compiled,
    CORTEX_HOME: home.dir,
    CORTEX_CANONICAL_URI: state.canonical_uri,
    CORTEX_NATS_URL: state.nats_url,
    CORTEX_DATABASE_URL: state.database_url,
    PORT: String(state.ports.public),
    WEBHOOK_PORT: String(state.ports.webhooks),
    CORTEX_CLIENT_PORT: String(state.ports.devices),
  };
}

/** What the provisioner of `up` needs: the system's, and how bus and database show who they are; no secret. */
export const provisionerEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => SYSTEM.test(name) || WAY.test(name)));

/** What one service shows to bus and database. */
export function ownPasswords(service: ServiceName | undefined, secrets: Secrets): Record<string, string> {
  if (service === undefined) return {};
  const role = schemaOf(service);
  return {
    CORTEX_NATS_USER: service,
    CORTEX_NATS_PASSWORD: String(secrets.bus[service]),
    CORTEX_DATABASE_PASSWORD: String(secrets.database[role]),
    CORTEX_DATABASE_PROJECTOR_PASSWORD: String(secrets.database[`${role}_projector`]),
  };
}

/** Of addresses, separated by commas, only what may be shown: no user, no password. */
export const withoutCredentials = (urls: string): string => urls.replaceAll(/\/\/[^/@,?]*@/g, '//');
