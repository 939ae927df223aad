import { mainKey } from '@cortex/auth';
import { CortexError, failedPrecondition } from '@cortex/contracts';
import { sessionIssuer } from '@cortex/contracts/session';
import { transportVerdict } from '@cortex/contracts/transport-policy';
import type { EdgeEnvironment } from './config.js';
import { configuredBackends, type ConfiguredBackends } from './federation/backends.js';
import { type Keys, keysOf } from './federation/integrity/seal.js';

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);
export const isLoopback = (hostname: string): boolean => LOOPBACK.has(hostname);

/** The environment made ready to use: what follows from several variables is worked out here, once. */
export interface Settings extends EdgeEnvironment {
  readonly production: boolean;
  readonly host: string;
  /** Resource identifier, without a trailing slash. */
  readonly canonicalUri: string;
  readonly canonicalOrigin: string;
  readonly canonicalHostname: string;
  /** True outside production with a loopback canonical URI: its names are one resource (architecture, ruling 13). */
  readonly loopbackAliases: boolean;
  readonly audience: string;
  readonly jwksUrl: string;
  /** Set where the issuer is to be asked whether tokens still count. */
  readonly introspection:
    { readonly url: string; readonly clientId: string; readonly clientSecret: string } | undefined;
  readonly websiteUrl: string;
  readonly auditHashKey: string;
  /** The server's own secret at the loopback listener; without one it opens to session tokens alone. */
  readonly webhookToken: string | undefined;
  /** Opens the routes of operators; without one they are off. */
  readonly adminSecret: string | undefined;
  /** Lets a timer purge the audit trail; without one nothing does. */
  readonly cronSecret: string | undefined;
  /** 32 bytes. */
  readonly stateKey: Uint8Array;
  readonly version: string;
  /** Who signs the approvals of definitions. */
  readonly baselineKeys: Keys;
  /** What of the backends can be served, and what there is to say about the rest. */
  readonly federation: Pick<ConfiguredBackends, 'backends' | 'skipped' | 'warnings'>;
}

export interface SettingsExtras {
  version: string;
  /** Of the home; they stand in where the variable is unset, the state key outside production alone. */
  auditHashKey?: string;
  webhookToken?: string;
  adminSecret?: string;
  cronSecret?: string;
  /** Base64. */
  stateKey?: string;
}

/** Throws what makes a start impossible (gateway, section 25). */
export function settingsOf(env: EdgeEnvironment, extras: SettingsExtras): Settings {
  const production = env.NODE_ENV === 'production';
  const canonical = new URL(env.CORTEX_CANONICAL_URI ?? `http://127.0.0.1:${env.PORT}/mcp`);
  const faults: string[] = [];
  const insecure = (url: URL) => url.protocol !== 'https:' && !isLoopback(url.hostname);
  if (canonical.hash !== '' || canonical.search !== '')
    faults.push('CORTEX_CANONICAL_URI has a query or a fragment; remove it');
  if (production && env.CORTEX_CANONICAL_URI === undefined)
    faults.push('CORTEX_CANONICAL_URI is missing; production needs the public URL of /mcp');
  if (production && insecure(canonical)) faults.push('CORTEX_CANONICAL_URI is not https; production needs https');
  if (production && insecure(new URL(env.OAUTH_ISSUER)))
    faults.push('OAUTH_ISSUER is not https; production needs https');
  if (env.OAUTH_ISSUER === sessionIssuer(canonical.href))
    faults.push('OAUTH_ISSUER is the issuer of session tokens; name the authorization server of the people');
  if (production && env.RATE_LIMIT_DISABLED)
    faults.push('RATE_LIMIT_DISABLED is set; it is for tests and refused in production');
  if (production && env.CORTEX_DEV_ISSUER)
    faults.push('CORTEX_DEV_ISSUER is on, and production has no development issuer; set it to 0');
  const jwksUrl = env.OAUTH_JWKS_URL ?? `${env.OAUTH_ISSUER.replace(/\/$/, '')}/.well-known/jwks.json`;
  const introspection = introspectionOf(env, faults);
  const anyhow = env.CORTEX_ALLOW_INSECURE_BACKENDS;
  const asked = [
    { name: 'OAUTH_INTROSPECT_URL', url: introspection?.url, plain: anyhow },
    {
      name: env.OAUTH_JWKS_URL ? 'OAUTH_JWKS_URL' : 'OAUTH_ISSUER',
      url: jwksUrl,
      plain: anyhow || env.CORTEX_DEV_ISSUER,
    },
  ];
  for (const { name, url, plain } of asked) {
    const verdict = url === undefined ? undefined : transportVerdict(url, plain);
    if (verdict?.allowed === false) faults.push(`${name} ${verdict.problem}`);
  }
  // Like the state key below: replicas that hash with other keys make two people of one.
  const auditHashKey = env.CORTEX_AUDIT_HASH_KEY ?? (production ? undefined : extras.auditHashKey);
  if (auditHashKey === undefined) faults.push('CORTEX_AUDIT_HASH_KEY is missing; set it to 32 random bytes');
  // Replicas must share it, and a home is one machine's.
  const stateKey = env.CORTEX_STATE_KEY ?? (production ? undefined : mainKey(extras.stateKey ?? ''));
  if (stateKey === undefined) faults.push('CORTEX_STATE_KEY is missing; set it to 32 random bytes in base64');
  const adminSecret = env.CORTEX_ADMIN_SECRET ?? extras.adminSecret;
  const cronSecret = env.CRON_SECRET ?? extras.cronSecret;
  // To clean up is maintenance, to approve a tool is not.
  if (adminSecret !== undefined && adminSecret === cronSecret)
    faults.push('CRON_SECRET is CORTEX_ADMIN_SECRET; a timer must not be able to approve tools, so set another');
  const { faults: backendFaults, ...federation } = configuredBackends({ ...env, production }, { ...env });
  faults.push(...backendFaults);
  const baselineKeys = baselineKeysOf(env, faults);
  if (faults.length > 0 || auditHashKey === undefined || stateKey === undefined) throw startFault(faults);
  return {
    ...env,
    production,
    host: env.CORTEX_HOST ?? (production ? '0.0.0.0' : '127.0.0.1'),
    canonicalUri: canonical.href.replace(/\/$/, ''),
    canonicalOrigin: canonical.origin,
    canonicalHostname: canonical.hostname,
    loopbackAliases: !production && isLoopback(canonical.hostname),
    audience: env.OAUTH_AUDIENCE ?? canonical.href.replace(/\/$/, ''),
    jwksUrl,
    introspection,
    websiteUrl: env.CORTEX_WEBSITE_URL ?? canonical.origin,
    auditHashKey,
    webhookToken: env.CORTEX_WEBHOOK_TOKEN ?? extras.webhookToken,
    adminSecret,
    cronSecret,
    stateKey,
    version: extras.version,
    federation,
    baselineKeys,
  };
}

/** What an operator should know at a start that nothing stops; whoever reads a setting alone tells what is wrong with it. */
export function startWarnings({ production, CORTEX_ALLOWED_ORIGINS: origins }: Settings): string[] {
  if (!production || origins.length > 0) return [];
  return ['CORTEX_ALLOWED_ORIGINS is empty: clients that are web pages fail at their preflight; list their origins'];
}

function baselineKeysOf(env: EdgeEnvironment, faults: string[]): Keys {
  try {
    return keysOf(env.CORTEX_BASELINE_PRIVATE_KEY, env.CORTEX_BASELINE_PUBLIC_KEY);
  } catch (error) {
    faults.push((error as Error).message);
    return { signing: 'none' };
  }
}

/** All three or none: with a part of them somebody would believe that revoked tokens are refused. */
function introspectionOf(env: EdgeEnvironment, faults: string[]): Settings['introspection'] {
  const {
    OAUTH_INTROSPECT_URL: url,
    OAUTH_INTROSPECT_CLIENT_ID: clientId,
    OAUTH_INTROSPECT_CLIENT_SECRET: clientSecret,
  } = env;
  if (url !== undefined && clientId !== undefined && clientSecret !== undefined) return { url, clientId, clientSecret };
  const given = {
    OAUTH_INTROSPECT_URL: url,
    OAUTH_INTROSPECT_CLIENT_ID: clientId,
    OAUTH_INTROSPECT_CLIENT_SECRET: clientSecret,
  };
  const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length < 3)
    faults.push(`${missing.join(' and ')} is missing; introspection needs all three, or none of them`);
  return undefined;
}

const startFault = (faults: readonly string[]): CortexError =>
  failedPrecondition(undefined, faults.join('\n'), '', { reason: 'invalid_state' });
