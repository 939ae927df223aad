import { createHmac } from 'node:crypto';
import { PROVISIONER, SERVICES, type ServiceName } from '@cortex/contracts/services';
import type { Secrets } from '@cortex/service-kit';
import { ownPasswords, ownSecrets } from '../up/environment.js';
import { passwordsConf } from './nats.js';

/** What provisioning alone knows: its own name on the bus, and the passwords of database and roles that it sets. */
export type ProvisionSecrets = Pick<Secrets, 'bus' | 'database'>;

/** File of the folder `provision`. */
export const PROVISION_FILE = 'provision.json';

/** Who reads secrets: the services, the servers, provisioning, and what watches them. */
export const SECRET_READERS = [...SERVICES, 'nats', 'postgres', 'provision', 'prometheus', 'grafana'] as const;
export type SecretReader = (typeof SECRET_READERS)[number];

/** One folder per reader, in it a file per secret, named as the variable or file that the reader knows. */
export type SecretFolders = Readonly<Record<SecretReader, Readonly<Record<string, string>>>>;

/** Who of an installation is given which secret: a service its own, the servers theirs, provisioning what it sets. */
export function secretFolders(secrets: Secrets): SecretFolders {
  const provision: ProvisionSecrets = {
    bus: { [PROVISIONER]: String(secrets.bus[PROVISIONER]) },
    database: secrets.database,
  };
  const metricsToken = { CORTEX_METRICS_TOKEN: derived(secrets, 'metrics') };
  const services = SERVICES.map((name) => [
    name,
    { ...ownPasswords(name, secrets), ...ownSecrets([name], secrets), ...(name === 'mcp-edge' && metricsToken) },
  ]);
  return {
    ...(Object.fromEntries(services) as Pick<SecretFolders, ServiceName>),
    nats: { 'passwords.conf': passwordsConf(secrets.bus) },
    postgres: { POSTGRES_PASSWORD: secrets.database.admin.password },
    provision: { [PROVISION_FILE]: `${JSON.stringify(provision)}\n` },
    prometheus: metricsToken,
    grafana: { GF_SECURITY_ADMIN_PASSWORD: derived(secrets, 'grafana') },
  };
}

/** Of what only containers need: made of the operators' secret, so that it is the same each time and stands in no file more. */
const derived = (secrets: Secrets, purpose: string): string =>
  createHmac('sha256', secrets.admin_secret).update(purpose).digest('base64url');
