import { generateKeyPair, generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmodSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { PROVISIONER, schemaOf, SERVICES } from '@cortex/contracts/services';
import type { Secrets } from '@cortex/service-kit';
import { CliError, EXIT } from './exit.js';
import { readJson, writeJson, type Home } from './home.js';

const random = (): string => randomBytes(32).toString('base64url');

/**
 * The secrets of this home, made at its first start and completed when a release brings a new one. What is there is never
 * changed: tokens, sealed values and the database were made with it.
 */
export async function ensureSecrets(home: Home): Promise<Secrets> {
  const kept = readJson<Partial<Secrets>>(home.secrets) ?? {};
  const roles = SERVICES.flatMap((service) => [schemaOf(service), `${schemaOf(service)}_projector`]);
  const passwords = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, random()]));
  const secrets: Secrets = {
    version: 1,
    bus: { ...passwords([...SERVICES, PROVISIONER]), ...kept.bus },
    database: {
      ...passwords(roles),
      admin: { user: 'postgres', password: random() },
      ...kept.database,
    } as Secrets['database'],
    webhook_token: kept.webhook_token ?? random(),
    client_token: kept.client_token ?? random(),
    // 32 bytes as base64: the form that its variable has too.
    state_key: kept.state_key ?? randomBytes(32).toString('base64'),
    audit_hash_key: kept.audit_hash_key ?? random(),
    device_server_key: kept.device_server_key ?? ed25519Key(),
    session_key: kept.session_key ?? ed25519Key(),
    audit_anchor_key: kept.audit_anchor_key ?? ed25519Key(),
    issuer: kept.issuer ?? (await issuerKey()),
    admin_secret: kept.admin_secret ?? random(),
    cron_secret: kept.cron_secret ?? random(),
  };
  if (JSON.stringify(secrets) !== JSON.stringify(kept)) writeJson(home.secrets, secrets);
  if ((statSync(home.secrets).mode & 0o077) !== 0) chmodSync(home.secrets, 0o600);
  return secrets;
}

/**
 * Other passwords for all users of the bus and all roles of the database, in place of those that this home has; its keys, which
 * tokens and sealed values were made with, stay, and so does the administrator of the database. They count from the moment that
 * bus and database have them too.
 */
export async function rotatePasswords(home: Home): Promise<Secrets> {
  const { bus: _, database, ...kept } = readSecrets(home);
  writeJson(home.secrets, { ...kept, database: { admin: database.admin } });
  return ensureSecrets(home);
}

/** The secrets of a home that was up before. */
export function readSecrets(home: Home): Secrets {
  const secrets = readJson<Secrets>(home.secrets);
  if (secrets) return secrets;
  throw new CliError(`home ${home.dir} has no secrets yet; start it once with: cortex up`, EXIT.notRunning);
}

const ed25519Key = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

export async function issuerKey(): Promise<Secrets['issuer']> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const kid = randomBytes(8).toString('hex');
  return { kid, private_jwk: { ...privateKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' } };
}
