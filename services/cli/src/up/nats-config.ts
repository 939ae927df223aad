import { busPermissions, PROVISIONER, type ConsumerRef, type ServiceName } from '@cortex/contracts';

export interface BusAccount {
  name: ServiceName;
  consumers: readonly ConsumerRef[];
}

/** How a password is written: itself, or the name of a variable of the server's configuration. */
export type WritePassword = (user: string) => string;

/** The configuration of the server that `up` starts. */
export function natsConfig(accounts: readonly BusAccount[], passwords: Readonly<Record<string, string>>): string {
  const written: WritePassword = (user) => {
    const password = passwords[user];
    if (password === undefined) throw new Error(`no bus password for ${user}`);
    return JSON.stringify(password);
  };
  return [
    '# Made by `cortex up` out of the registries in the code; changes here are lost.',
    'listen: "127.0.0.1:4222"',
    'max_payload: 1MB',
    'jetstream {}',
    busUsers(accounts, written),
    '',
  ].join('\n');
}

/**
 * One user per service with what the table of the contracts gives it, and the provisioner, who alone makes streams and
 * consumers. Everybody else is refused.
 */
export function busUsers(accounts: readonly BusAccount[], password: WritePassword): string {
  const user = (name: string, permissions: object): string =>
    `  { user: ${JSON.stringify(name)}, password: ${password(name)}, permissions: ${JSON.stringify(permissions)} }`;
  const users = [
    ...accounts.map(({ name, consumers }) => user(name, busPermissions(name, consumers))),
    user(PROVISIONER, { publish: ['>'], subscribe: ['>'] }),
  ];
  return `authorization { users: [\n${users.join(',\n')}\n] }`;
}
