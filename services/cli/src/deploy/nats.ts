import { PROVISIONER, SERVICES } from '@cortex/contracts/services';
import { consumersOf, type Provisionable } from '@cortex/eventstore';
import { busUsers } from '../up/nats-config.js';

/** A user's password as a variable of the server's configuration. */
const variableOf = (user: string): string => `PASSWORD_${user.replaceAll('-', '_').toUpperCase()}`;

/** Where the container has the passwords, seen from the folder of `users.conf`: the server takes no absolute path. */
const PASSWORDS = '../../run/cortex/secrets/passwords.conf';

/** `users.conf`: the users with their permissions. It holds no secret; whoever reviews a change sees who may do what more. */
export function usersConf(services: readonly Provisionable[]): string {
  const accounts = services.map((service) => ({ name: service.name, consumers: consumersOf(service) }));
  return [
    '# Written by `npm run deploy` out of the registries in the code; changes here are lost.',
    `include "${PASSWORDS}"`,
    busUsers(accounts, (user) => `$${variableOf(user)}`),
    '',
  ].join('\n');
}

/** `passwords.conf`, which lies in a secret of the server alone. */
export const passwordsConf = (bus: Readonly<Record<string, string>>): string =>
  [...SERVICES, PROVISIONER].map((user) => `${variableOf(user)}: ${JSON.stringify(bus[user])}\n`).join('');
