import { busPermissions, PROVISIONER, type ConsumerRef, type ServiceName } from '@cortex/contracts';

export interface BusAccount {
  name: ServiceName;
  consumers: readonly ConsumerRef[];
}

/**
 * The server's configuration: one user per service with what the table of the contracts gives it, and the provisioner, who
 * alone makes streams and consumers. Everybody else is refused.
 */
export function natsConfig(accounts: readonly BusAccount[], passwords: Readonly<Record<string, string>>): string {
  const users = [
    ...accounts.map(({ name, consumers }) => user(name, passwords, busPermissions(name, consumers))),
    user(PROVISIONER, passwords, { publish: ['>'], subscribe: ['>'] }),
  ];
  return [
    '# Made by `cortex up` out of the registries in the code; changes here are lost.',
    'listen: "127.0.0.1:4222"',
    'max_payload: 1MB',
    'jetstream {}',
    `authorization { users: [\n${users.join(',\n')}\n] }`,
    '',
  ].join('\n');
}

function user(
  name: string,
  passwords: Readonly<Record<string, string>>,
  permissions: { publish: readonly string[]; subscribe: readonly string[] },
): string {
  const password = passwords[name];
  if (password === undefined) throw new Error(`no bus password for ${name}`);
  return `  { user: ${JSON.stringify(name)}, password: ${JSON.stringify(password)}, permissions: ${JSON.stringify(permissions)} }`;
}
