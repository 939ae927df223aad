import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { schemaOf, SERVICES, type BusUser } from '@cortex/contracts';
import type { Secrets } from '@cortex/service-kit';
import { rsaKey } from './rsa-key.js';
import { tempDir } from './temp-dir.js';

export interface TestHome extends AsyncDisposable {
  /** `CORTEX_HOME`. */
  readonly dir: string;
}

/** A home with secrets like the launcher's: in `given`, which stays, unless it has some already, or in a folder of its own. */
export async function testHome(
  passwords: { bus: (user: BusUser) => string; database: (role: string) => string },
  given?: string,
): Promise<TestHome> {
  const dir = given ?? (await tempDir('home'));
  const file = join(dir, 'config', 'secrets.json');
  if (!existsSync(file)) {
    await mkdir(join(dir, 'config'), { recursive: true, mode: 0o700 });
    await writeFile(file, JSON.stringify(await secretsOf(passwords)), { mode: 0o600 });
  }
  return {
    dir,
    async [Symbol.asyncDispose]() {
      if (given === undefined) await rm(dir, { recursive: true, force: true });
    },
  };
}

async function secretsOf(passwords: Parameters<typeof testHome>[0]): Promise<Secrets> {
  const random = () => randomBytes(32).toString('hex');
  const roles = SERVICES.flatMap((name) => [schemaOf(name), `${schemaOf(name)}_projector`]);
  const ed25519 = () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  return {
    version: 1,
    bus: Object.fromEntries(SERVICES.map((name) => [name, passwords.bus(name)])),
    database: {
      admin: { user: 'postgres', password: passwords.database('postgres') },
      ...Object.fromEntries(roles.map((role) => [role, passwords.database(role)])),
    } as Secrets['database'],
    webhook_token: random(),
    client_token: random(),
    state_key: randomBytes(32).toString('base64'),
    audit_hash_key: random(),
    device_server_key: ed25519(),
    session_key: ed25519(),
    audit_anchor_key: ed25519(),
    issuer: { kid: 'test', private_jwk: { ...(await rsaKey()) } },
    admin_secret: random(),
    cron_secret: random(),
  };
}
