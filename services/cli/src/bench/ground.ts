import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROVISIONER } from '@cortex/contracts';
import { startNats } from '@cortex/embedded/nats';
import { freePort } from '@cortex/embedded/ports';
import { initPostgres, startPostgres } from '@cortex/embedded/postgres';
import type { Secrets, ServiceDefinition } from '@cortex/service-kit';
import { homeOf, openHome, type Home } from '../home.js';
import { identityOf } from '../identity.js';
import { provision, writeNatsConfig } from '../provision.js';
import { ensureSecrets } from '../secrets.js';
import { startIssuer } from '../up/issuer.js';
import { writeState, type UpState } from '../up/state.js';
import { version } from '../version.js';

/** What every measurement stands on: a fresh home with broker and database of its own, provisioned for some services. */
export interface Ground extends AsyncDisposable {
  home: Home;
  secrets: Secrets;
  state: UpState;
  nats: { url: string; pid: number };
  postgres: { pid: number };
  /** As the provisioning identity. */
  adminUrl: string;
  readonly log: (of: string) => string;
}

export async function startGround(services: readonly ServiceDefinition[]): Promise<Ground> {
  await using stack = new AsyncDisposableStack();
  const home = homeOf(await mkdtemp(join(tmpdir(), 'cortex-bench-')));
  stack.defer(() => rm(home.dir, { recursive: true, force: true }));
  openHome(home);
  const secrets = await ensureSecrets(home);
  writeNatsConfig(home, secrets, services);
  const { user, password } = secrets.database.admin;
  await initPostgres(home.postgres, password, user);
  const log = (of: string) => join(home.logs, `${of}.log`);
  const nats = await startNats({ dir: home.nats, configFile: home.natsConfig, logFile: log('nats') });
  stack.defer(() => nats.kill());
  const database = await startPostgres({ dir: home.postgres, logFile: log('postgres') });
  stack.defer(() => database.kill());
  const state = await plan(nats.url, `postgres://127.0.0.1:${database.port}/cortex`);
  writeState(home, state);
  const issuer = await startIssuer({
    port: state.ports.issuer,
    key: secrets.issuer,
    file: join(home.dir, 'issuer.json'),
    canonicalUri: state.canonical_uri,
    audience: state.canonical_uri,
    owner: 'owner',
    env: {},
    tell: () => {},
  });
  stack.defer(() => issuer.close());
  const adminUrl = `postgres://${user}:${password}@127.0.0.1:${database.port}/cortex`;
  await provision({ nats_url: nats.url, admin_url: adminUrl }, secrets, services);
  const cleanUp = stack.move();
  return {
    home,
    secrets,
    state,
    nats,
    postgres: database,
    adminUrl,
    log,
    [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
  };
}

/** How the provisioning identity gets at the broker. */
export const asProvisioner = ({ nats, secrets }: Ground) => ({
  servers: nats.url,
  user: PROVISIONER,
  pass: secrets.bus[PROVISIONER] ?? '',
});

/** An installation of this process on free ports of its own. */
export async function plan(nats_url: string, database_url: string): Promise<UpState> {
  const [open, issuer, webhooks, devices] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const endpoint = `http://127.0.0.1:${open}/mcp`;
  return {
    supervisor: identityOf(process.pid),
    version,
    since: new Date().toISOString(),
    ready: true,
    each: true,
    endpoint,
    canonical_uri: endpoint,
    issuer: `http://127.0.0.1:${issuer}`,
    nats_url,
    database_url,
    ports: { public: open, issuer, webhooks, devices },
    processes: [],
  };
}
