import { appendFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICES, type ServiceName } from '@cortex/contracts/services';
import type { Running } from '@cortex/embedded/child';
import { freePort } from '@cortex/embedded/ports';
import { initPostgres, startPostgres } from '@cortex/embedded/postgres';
import type { Secrets } from '@cortex/service-kit';
import { adminUrl, asProvisioner, type Admin } from '../admin.js';
import { plan } from '../bench/ground.js';
import { homeOf, openHome, type Home } from '../home.js';
import { loadDefinitions, provision, writeNatsConfig } from '../provision.js';
import { ensureSecrets } from '../secrets.js';
import { lastWords } from '../tail.js';
import { ensureDefaultWorkspace } from '../up/default-workspace.js';
import { serviceEnvironment } from '../up/environment.js';
import { startIssuer } from '../up/issuer.js';
import { Kept } from '../up/kept.js';
import { askReady } from '../up/ready.js';
import { startServiceProcess } from '../up/service-process.js';
import { writeState, type UpState } from '../up/state.js';
import { Cluster, NODES, PLACE_OF } from './cluster.js';
import type { Address } from './link.js';
import { HOSTS, Namespaces, Relays, type Host, type Network } from './network.js';

const OWNER = 'owner';
const READY_MS = 120_000;
const STOP_MS = 30_000;

export interface FleetOptions {
  /** A process for each service, instead of one for the edge and one for all others. */
  each?: boolean;
  /** Host b is a network namespace. */
  namespaces?: boolean;
  /** Folder that the logs of all processes are left in. */
  logs?: string;
  tell: (text: string) => void;
}

interface Member {
  kept: Kept;
  /** Where its /ready is. */
  ops: string;
  start: () => Promise<Running>;
}

/** Two replicas of every service on two hosts, over a bus of three nodes: all real processes of this machine, each brought back when it dies. */
export class Fleet implements AsyncDisposable {
  readonly #members = new Map<string, Member>();
  readonly #stack = new AsyncDisposableStack();
  readonly #network: Network;
  readonly edges: Address[] = [];
  cluster!: Cluster;
  secrets!: Secrets;
  state!: UpState;
  #database: Kept | undefined;
  #databasePort = 0;

  private constructor(
    readonly home: Home,
    private readonly options: FleetOptions,
  ) {
    this.#network = this.#stack.use(options.namespaces ? new Namespaces() : new Relays());
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(homeOf(await mkdtemp(join(tmpdir(), 'cortex-chaos-'))), options);
    try {
      await fleet.#start();
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Names of the processes that hold services, such as `a/mcp-edge`. */
  get members(): string[] {
    return [...this.#members.keys()];
  }

  pid(name: string): number {
    const running = name === 'postgres' ? this.#database?.running : this.#members.get(name)?.kept.running;
    if (running === undefined) throw new Error(`${name} does not run`);
    return running.pid;
  }

  /** Of the provisioning identity, past every link. Done again while a leader of the bus is being chosen, so it must be safe to repeat. */
  async admin<T>(work: (admin: Pick<Admin, 'bus' | 'ask'> & { adminUrl: string }) => Promise<T>): Promise<T> {
    const url = this.#pastCuts();
    const until = Date.now() + READY_MS;
    for (;;) {
      try {
        return await asProvisioner(url, this.secrets, (as) =>
          work({ ...as, adminUrl: adminUrl(this.state, this.secrets, {}) }),
        );
      } catch (error) {
        if (Date.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  }

  /** Resolves when every process takes work. */
  async ready(): Promise<void> {
    const until = Date.now() + READY_MS;
    for (;;) {
      const answers = await Promise.all(
        [...this.#members].map(async ([name, { ops }]) => ({ name, ...(await askReady(ops, 2_000)) })),
      );
      const waiting = answers.filter(({ ready }) => !ready);
      if (waiting.length === 0) return;
      if (Date.now() > until)
        throw new Error(
          `not ready in time:\n${waiting.map((one) => `${one.name}: ${one.problem}\n${lastWords(this.#log(one.name))}`).join('\n')}`,
        );
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** Ends one in order and starts it again, as an upgrade does. */
  async roll(name: string): Promise<void> {
    const member = this.#members.get(name);
    if (member === undefined) throw new Error(`${name} is no process of the fleet`);
    await member.kept.stop(STOP_MS);
    this.#members.set(name, { ...member, kept: await this.#keep(name, member.start) });
    await this.ready();
  }

  /** Cuts a host off from all that is not on it, or mends it. */
  cutOff(host: Host, cut: boolean): void {
    this.#network.cutOff(host, cut);
  }

  async #start(): Promise<void> {
    const { home, options } = this;
    this.#stack.defer(() => rm(home.dir, { recursive: true, force: true }));
    const { logs } = options;
    if (logs !== undefined) this.#stack.defer(() => cp(home.logs, logs, { recursive: true }));
    openHome(home);
    const services = await loadDefinitions();
    this.secrets = await ensureSecrets(home);
    writeNatsConfig(home, this.secrets, services);
    options.tell('starting three nodes of the bus, and the database');
    this.cluster = this.#stack.use(await Cluster.start(home, this.#network));
    await this.#startDatabase();
    // Its endpoint is that of both edges: a proxy would stand there.
    const database = `postgres://${this.#network.address('rest')}:${this.#databasePort}/cortex`;
    this.state = await plan(this.#pastCuts(), database);
    writeState(home, this.state);
    await this.#startIssuer();
    options.tell('provisioning');
    await provision(
      { nats_url: this.state.nats_url, admin_url: adminUrl(this.state, this.secrets, {}), replicas: NODES.length },
      this.secrets,
      services,
    );
    options.tell('starting two replicas of every service');
    for (const host of HOSTS) await this.#startHost(host);
    await this.ready();
    await this.admin(({ ask }) => ensureDefaultWorkspace(ask, { issuer: String(this.state.issuer), sub: OWNER }));
  }

  async #startDatabase(): Promise<void> {
    const { user, password } = this.secrets.database.admin;
    await initPostgres(this.home.postgres, password, user);
    const host = this.#network.address('rest');
    // Its own rules know the loopback address alone.
    await appendFile(join(this.home.postgres, 'pg_hba.conf'), `host all all ${host}/30 scram-sha-256\n`);
    this.#databasePort = await freePort();
    const logFile = join(this.home.logs, 'postgres.log');
    this.#database = await this.#keep('postgres', () =>
      startPostgres({
        dir: this.home.postgres,
        port: this.#databasePort,
        logFile,
        settings: { listen_addresses: host },
      }),
    );
    this.#stack.defer(() => this.#database?.stop(STOP_MS));
  }

  async #startIssuer(): Promise<void> {
    const { home, state } = this;
    const issuer = await startIssuer({
      port: state.ports.issuer,
      key: this.secrets.issuer,
      file: home.logins,
      canonicalUri: state.canonical_uri,
      audience: state.canonical_uri,
      owner: OWNER,
      env: {},
      tell: () => {},
    });
    this.#stack.defer(() => issuer.close());
  }

  async #startHost(host: Host): Promise<void> {
    const servers: string[] = [];
    for (const node of NODES) {
      const way = await this.#network.way(host, PLACE_OF[node], this.cluster.clientPort(node));
      servers.push(`nats://${way.host}:${way.port}`);
    }
    const database = await this.#network.way(host, 'rest', this.#databasePort);
    await this.#network.loopback(host, 'rest', this.state.ports.issuer);
    const state = {
      ...this.state,
      nats_url: servers.join(','),
      database_url: `postgres://${database.host}:${database.port}/cortex`,
    };
    const groups = this.options.each ? SERVICES.map((name) => [name]) : [['mcp-edge'] as const, SERVICES.slice(1)];
    for (const services of groups) await this.#startMember(host, services, state);
  }

  async #startMember(host: Host, services: readonly ServiceName[], at: UpState): Promise<void> {
    const [open, webhooks, devices] = await Promise.all([freePort(), freePort(), freePort()]);
    const state = { ...at, ports: { ...at.ports, public: open, webhooks, devices } };
    const name = `${host}/${services.length === 1 ? String(services[0]) : 'services'}`;
    const env = {
      ...serviceEnvironment(services, this.home, state, this.secrets, process.env),
      CORTEX_HOST: this.#network.address(host),
      CORTEX_OPS_HOST: this.#network.address(host),
      CORTEX_OPS_PORT: String(open),
      CORTEX_RATE_LIMIT_PER_MINUTE: '1000000000',
    };
    const logFile = this.#log(name);
    const begin = Promise.resolve();
    const start = async () =>
      startServiceProcess({ services, env, logFile, port: open, begin, enter: this.#network.enter(host) });
    const kept = await this.#keep(name, start);
    this.#members.set(name, { kept, ops: `http://${this.#network.address(host)}:${open}`, start });
    if (services.includes('mcp-edge')) this.edges.push({ host: this.#network.address(host), port: open });
  }

  async #keep(name: string, start: () => Promise<Running>): Promise<Kept> {
    const kept = new Kept(name, start, {
      started: () => undefined,
      died: () => undefined,
      refused: () => this.options.tell(`${name} cannot work with its configuration`),
    });
    await kept.begin();
    return kept;
  }

  #log = (name: string): string => join(this.home.logs, `${name.replace('/', '-')}.log`);

  #pastCuts = (): string => NODES.map((node) => this.cluster.url(node)).join(',');

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ kept }) => kept.stop(STOP_MS)));
    await this.#stack.disposeAsync();
  }
}
