import { PROVISIONER, SERVICES } from '@cortex/contracts/services';
import type { Secrets } from '@cortex/service-kit';
import { ownPasswords, ownSecrets } from '../up/environment.js';
import { passwordsConf } from './nats.js';

/** What provisioning alone knows: its own name on the bus, and the passwords of database and roles that it sets. */
export type ProvisionSecrets = Pick<Secrets, 'bus' | 'database'>;

/** File of the folder `provision`. */
export const PROVISION_FILE = 'provision.json';

/** One folder per reader, in it a file per secret, named as the variable or file that the reader knows. */
export type SecretFolders = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Who of an installation is given which secret: a service its own, the servers theirs, provisioning what it sets. */
export function secretFolders(secrets: Secrets): SecretFolders {
  const provision: ProvisionSecrets = {
    bus: { [PROVISIONER]: String(secrets.bus[PROVISIONER]) },
    database: secrets.database,
  };
  return {
    ...Object.fromEntries(
      SERVICES.map((name) => [name, { ...ownPasswords(name, secrets), ...ownSecrets([name], secrets) }]),
    ),
    nats: { 'passwords.conf': passwordsConf(secrets.bus) },
    postgres: { POSTGRES_PASSWORD: secrets.database.admin.password },
    provision: { [PROVISION_FILE]: `${JSON.stringify(provision)}\n` },
  };
}
