import { mainKey, parseScopeImplies, SIGNATURE_ALGS } from '@cortex/auth';
import { flag } from '@cortex/service-kit/flag';
import { z } from 'zod';
import { parseProfileRules, type ProfileRule } from './federation/schemas/profile-rules.js';
import { KNOWN_PROFILES, ORIGINAL, profileOf } from './federation/schemas/profiles.js';

const list = z
  .string()
  .optional()
  .transform((v) => (v ?? '').split(/[\s,]+/).filter(Boolean));
const port = z.coerce.number().int().min(0).max(65_535);
const positive = (fallback: number) => z.coerce.number().int().positive().default(fallback);
const url = z.url();

/** `broad=narrow narrow2; …` */
const implications = z
  .string()
  .default('')
  .transform((text, ctx) => {
    try {
      return parseScopeImplies(text);
    } catch (error) {
      ctx.addIssue({ code: 'custom', message: error instanceof Error ? error.message : '' });
      return z.NEVER;
    }
  });

const schemaProfile = (text: string, ctx: z.RefinementCtx): string => {
  const profile = profileOf(text);
  if (profile !== undefined) return profile;
  ctx.addIssue({ code: 'custom', message: `is no schema profile; use one of ${KNOWN_PROFILES.join(', ')}` });
  return z.NEVER;
};
const schemaProfileRules = (text: string, ctx: z.RefinementCtx): ProfileRule[] => {
  try {
    return parseProfileRules(text);
  } catch (error) {
    ctx.addIssue({ code: 'custom', message: error instanceof Error ? error.message : '' });
    return z.NEVER;
  }
};

/** A main key of sealed values. */
const sealingKey = (text: string, ctx: z.RefinementCtx): Buffer => {
  const key = mainKey(text);
  if (key !== undefined) return key;
  ctx.addIssue({ code: 'custom', message: 'is not 32 bytes in base64; make one with `openssl rand -base64 32`' });
  return z.NEVER;
};

/** Every variable that the edge reads. Source: gateway, section 26. */
export const config = z.object({
  NODE_ENV: z.string().optional(),
  PORT: port.default(9030),
  WEBHOOK_PORT: port.default(3001),
  CORTEX_HOST: z.string().optional(),
  CORTEX_HOME: z.string().optional(),
  CORTEX_CANONICAL_URI: url.optional(),
  CORTEX_SERVER_NAME: z.string().min(1).default('cortex-gateway'),
  CORTEX_SERVER_CARD_NAME: z.string().optional(),
  CORTEX_WEBSITE_URL: url.optional(),
  CORTEX_MAX_BODY_BYTES: positive(16 * 1024 * 1024),
  CORTEX_INLINE_MEDIA_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(3 * 1024 * 1024),
  CORTEX_LEGACY: flag(true),
  CORTEX_LEGACY_SSE: flag(true),
  CORTEX_SSE_KEEPALIVE_MS: positive(15_000),
  CORTEX_SSE_RETRY_MS: positive(2_000),
  CORTEX_SSE_POLL_AFTER_MS: z.coerce.number().int().min(0).default(0),
  CORTEX_LIST_PAGE_SIZE: z.coerce.number().int().min(0).default(0),
  CORTEX_STATE_TTL_SECONDS: positive(600),
  CORTEX_INPUT_TIMEOUT_MS: positive(600_000),

  OAUTH_ISSUER: url,
  OAUTH_AUDIENCE: z.string().optional(),
  OAUTH_JWKS_URL: url.optional(),
  /** The compose file's own issuer is there: keys come by http from another container. */
  CORTEX_DEV_ISSUER: flag(false),
  OAUTH_JWKS_MAX_STALE_SECONDS: positive(86_400),
  OAUTH_ALLOWED_ALGS: list
    .pipe(z.array(z.enum(SIGNATURE_ALGS)))
    .transform((v) => (v.length > 0 ? v : (['RS256'] as const).slice())),
  OAUTH_CLOCK_SKEW_SECONDS: z.coerce.number().int().min(0).max(120).default(60),
  OAUTH_REQUIRE_JTI: flag(true),
  OAUTH_REQUIRED_SCOPES: list,
  OAUTH_INTROSPECT_URL: url.optional(),
  OAUTH_INTROSPECT_CLIENT_ID: z.string().min(1).optional(),
  OAUTH_INTROSPECT_CLIENT_SECRET: z.string().min(1).optional(),
  OAUTH_INTROSPECT_CACHE_TTL_SECONDS: positive(60),
  OAUTH_INTROSPECT_FAIL_MODE: z.enum(['closed', 'open']).default('closed'),
  /** `sub` at the issuer of the person whom the installation belongs to. */
  CORTEX_OWNER_SUB: z.string().min(1).optional(),
  CORTEX_REQUIRED_POOL: z.string().optional(),
  CORTEX_SCOPE_CHALLENGE: z.enum(['http', 'rpc']).default('http'),
  CORTEX_SCOPE_IMPLIES: implications,
  CORTEX_SCOPES_SUPPORTED: z.enum(['catalog', 'baseline']).default('catalog'),
  CORTEX_PROXY_AS_METADATA: flag(false),
  CORTEX_DEV_BYPASS_TOKEN: z.string().optional(),
  CORTEX_DEV_BYPASS_SCOPES: list,
  CORTEX_DEV_BYPASS_ROLE: z.string().default('admin'),

  CORTEX_ALLOWED_ORIGINS: list,
  CORTEX_ALLOWED_HOSTS: list,
  CORTEX_RATE_LIMIT_PER_MINUTE: positive(200),
  CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: positive(60),
  RATE_LIMIT_DISABLED: flag(false),
  CORTEX_TRUSTED_PROXY_HOPS: z.coerce.number().int().min(0).default(0),

  CORTEX_BACKENDS: list,
  /** Those of them that keep the tickets about what is missing in them. */
  CORTEX_TICKET_BACKENDS: list,
  CORTEX_TECHNICAL_TOKEN: z.string().min(1).optional(),
  CORTEX_TECHNICAL_CLIENT_ID: z.string().min(1).optional(),
  CORTEX_TECHNICAL_CLIENT_SECRET: z.string().min(1).optional(),
  CORTEX_REFRESH_INTERVAL_MS: positive(60_000),
  CORTEX_ALLOW_UNPREFIXED: flag(false),
  CORTEX_TOOL_NAME_MAX: z.coerce.number().int().min(24).max(128).default(48),
  CORTEX_BACKEND_ERROR_STYLE: z.enum(['result', 'rpc']).default('result'),
  CORTEX_MAX_BACKEND_RESPONSE_BYTES: positive(10 * 1024 * 1024),
  CORTEX_BACKEND_MAX_STREAM_MS: positive(300_000),
  CORTEX_ALLOW_INSECURE_BACKENDS: flag(false),
  CORTEX_REQUIRE_TOKEN_EXCHANGE: flag(false),

  /** What becomes of a tool that changed under its name: held back until an operator approves it, or served and logged. */
  CORTEX_TOOL_INTEGRITY_MODE: z.enum(['block', 'warn']).default('block'),
  CORTEX_TOOL_INTEGRITY_ORDER: z.enum(['report', 'block']).default('report'),
  /** A file in which the approvals stand once more. */
  CORTEX_TOOL_BASELINE_FILE: z.string().min(1).optional(),
  CORTEX_BASELINE_PRIVATE_KEY: z.string().min(1).optional(),
  CORTEX_BASELINE_PUBLIC_KEY: z.string().min(1).optional(),
  CORTEX_BASELINE_PUBLIC_KEY_HINT: z.url().optional(),

  /** The form of the schemas in lists for clients that ask for none; and by the name that a client gives itself. */
  CORTEX_SCHEMA_PROFILE: z.string().default(ORIGINAL).transform(schemaProfile),
  CORTEX_SCHEMA_PROFILE_RULES: z.string().default('').transform(schemaProfileRules),
  /** Whether results of backends are held to the output schemas of their tools, and arguments to the input schemas here already. */
  CORTEX_VALIDATE_RESULTS: z.enum(['off', 'warn', 'strict']).default('warn'),
  CORTEX_VALIDATE_ARGUMENTS: flag(false),

  CORTEX_WEBHOOK_TOKEN: z.string().min(1).optional(),
  CORTEX_AUDIT_HASH_KEY: z.string().min(1).optional(),
  CORTEX_STATE_KEY: z.string().transform(sealingKey).optional(),
  CORTEX_STATE_KEYS_OLD: list.transform((keys, ctx) => keys.map((key) => sealingKey(key, ctx))),
  CORTEX_METRICS_TOKEN: z.string().min(1).optional(),
  CORTEX_ADMIN_SECRET: z.string().min(1).optional(),
  CRON_SECRET: z.string().min(1).optional(),
  CORTEX_MANAGED_POLICY: z.string().optional(),
});
/** The same with what else there is: the variables of a backend have its id in their names. */
export const openConfig = config.loose();
export type EdgeEnvironment = z.infer<typeof config>;
