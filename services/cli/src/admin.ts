import { randomUUID } from 'node:crypto';
import { ask, connectBus, type Bus, type Log } from '@cortex/bus';
import { PROVISIONER } from '@cortex/contracts/services';
import type { Secrets } from '@cortex/service-kit';
import { busFaults, busTlsFiles, databaseFaults } from '@cortex/service-kit/server-faults';
import { CliError, EXIT } from './exit.js';
import type { Home } from './home.js';
import { readSecrets } from './secrets.js';
import { assertRunning, type UpState } from './up/state.js';

/** What a command may do that holds the secrets of a running home. */
export interface Admin {
  bus: Bus;
  state: UpState;
  secrets: Secrets;
  /** Of somebody who may change roles and tables. */
  adminUrl: string;
  /** A query or command that the access table allows to the provisioner. */
  ask: <T>(subject: string, args: Record<string, unknown>) => Promise<T>;
}

export async function withAdmin<T>(home: Home, work: (admin: Admin) => Promise<T>): Promise<T> {
  const state = assertRunning(home);
  const secrets = readSecrets(home);
  return asProvisioner(state.nats_url, secrets, ({ bus, ask }) =>
    work({ bus, ask, state, secrets, adminUrl: adminUrl(state, secrets, process.env) }),
  );
}

/** On the bus under the name that makes and changes things; the connection is closed behind it. */
export async function asProvisioner<T>(
  nats_url: string,
  secrets: Pick<Secrets, 'bus'>,
  work: (as: Pick<Admin, 'bus' | 'ask'>) => Promise<T>,
  log?: Log,
): Promise<T> {
  assertUsable(busFaults({ ...process.env, CORTEX_NATS_URL: nats_url }));
  const bus = await connectBus({
    servers: nats_url,
    tls: busTlsFiles(process.env),
    user: PROVISIONER,
    pass: secrets.bus[PROVISIONER],
    service: PROVISIONER,
    waitOnFirstConnect: false,
    log,
  });
  try {
    return await work({
      bus,
      ask: async (subject, args) => (await ask(bus, subject, request(args))).data as never,
    });
  } finally {
    await bus.close();
  }
}

/** Of somebody who may make roles: the credentials in the variable, else those of the secrets. */
export function adminUrl(
  state: Pick<UpState, 'database_url'>,
  secrets: Pick<Secrets, 'database'>,
  env: NodeJS.ProcessEnv,
): string {
  const given = env['CORTEX_DATABASE_URL'] || state.database_url;
  assertUsable(databaseFaults({ ...env, CORTEX_DATABASE_URL: given }));
  const url = new URL(given);
  if (url.username !== '') return url.href;
  url.username = secrets.database.admin.user;
  url.password = secrets.database.admin.password;
  return url.href;
}

function assertUsable(faults: readonly string[]): void {
  if (faults.length > 0) throw new CliError(faults.join('\n'), EXIT.usage);
}

const request = (args: Record<string, unknown>) => ({
  v: 1 as const,
  call_id: randomUUID(),
  workspace_id: null,
  principal: { type: 'system' as const, id: 'cli', roles: [] },
  scope: {},
  args,
  deadline_ms: 10_000,
});
