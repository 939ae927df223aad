import { z } from 'zod';

/** 32 bytes, of which an Ed25519 public key is made. */
const PUBLIC_KEY = /^[A-Za-z0-9_-]{43}$/;

export const config = z.object({
  /** Where the edge is reached: the audience of session tokens, and by its origin their issuer. */
  CORTEX_CANONICAL_URI: z.url().optional(),
  PORT: z.coerce.number().int().min(0).max(65_535).default(9030),
  /** Ed25519, PKCS8 PEM: signs session tokens. The home's secrets have one too. */
  CORTEX_SESSION_KEY: z.string().min(1).optional(),
  /** Public keys whose tokens are good as well, base64url: the one before, and the next one where several instances change over. */
  CORTEX_SESSION_KEYS_OLD: z
    .string()
    .default('')
    .transform((text) => text.split(/[\s,]+/).filter(Boolean))
    .pipe(
      z.array(
        z.string().regex(PUBLIC_KEY, 'has an entry that is no Ed25519 public key; give 43 characters of base64url'),
      ),
    ),
});
export type Config = z.output<typeof config>;
