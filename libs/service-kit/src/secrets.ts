import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { failedPrecondition } from '@cortex/contracts';
import { z } from 'zod';

const Text = z.string().min(1);

/** `$CORTEX_HOME/config/secrets.json`, written by the launcher with mode 0600. */
export const Secrets = z.object({
  version: z.literal(1),
  /** Bus user to password. */
  bus: z.record(z.string(), Text),
  /** Role to password; `admin` is the provisioning identity. */
  database: z.object({ admin: z.object({ user: Text, password: Text }) }).catchall(Text),
  webhook_token: Text,
  client_token: Text,
  /** Seals state that a client carries. */
  state_key: Text,
  audit_hash_key: Text,
  /** Ed25519, PKCS8 PEM. */
  device_server_key: Text,
  /** Ed25519, PKCS8 PEM: signs session tokens. */
  session_key: Text,
  /** Ed25519, PKCS8 PEM: signs the anchors of the audit trail. */
  audit_anchor_key: Text,
  issuer: z.object({ kid: Text, private_jwk: z.record(z.string(), z.unknown()) }),
  admin_secret: Text,
  cron_secret: Text,
});
export type Secrets = z.infer<typeof Secrets>;

/** Null when the home has no secrets (several containers get theirs from the environment); throws when they are broken. */
export function loadSecrets(home: string): Secrets | null {
  const file = join(home, 'config', 'secrets.json');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw failedPrecondition(file, 'cannot be read', 'run as the user who made the home', { cause });
  }
  const parsed = Secrets.safeParse(parse(text));
  if (parsed.success) return parsed.data;
  // Paths only: the values are secrets.
  const bad = parsed.error.issues.map((issue) => issue.path.join('.') || 'the whole file').join(', ');
  throw failedPrecondition(file, `is damaged (${bad})`, 'restore it from a backup, or start over with up --reset');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
