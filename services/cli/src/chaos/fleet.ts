import { cp, mkdtemp, rm } from 'node:fs/promises';
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
import { Cluster, NODES, type Node } from './cluster.js';
import { Link } from './link.js';

/** Where services run. `a` has the node n1 of the bus and `b` has n2; n3, database and issuer are elsewhere. */
const HOSTS = ['a', 'b'] as const;
export type Host = (typeof HOSTS)[number];
const NODE_OF: Readonly<Record<Host, Node>> = { a: 'n1', b: 'n2' };

const OWNER = 'owner';
const READY_MS = 120_000;
const STOP_MS = 30_000;

export interface FleetOptions {
  /** A process for each service, instead of one for the edge and one for all others. */
  each?: boolean;
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
  readonly #links: Record<Host, Link[]> = { a: [], b: [] };
  readonly edges: { host: Host; port: number }[] = [];
  cluster!: Cluster;
  secrets!: Secrets;
  state!: UpState;
  #database: Kept | undefined;
  #databasePort = 0;

  private constructor(
    readonly home: Home,
    private readonly options: FleetOptions,
  ) {}

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
    const url = this.#urls((node) => this.cluster.clientPort(node));
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

  /** Cuts a host off from all that is not on it, or mends it. Callers reach it all the same. */
  cutOff(host: Host, cut: boolean): void {
    this.cluster.cutOff(NODE_OF[host], cut);
    for (const link of this.#links[host]) {
      if (cut) link.cut();
      else link.mend();
    }
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
    this.cluster = this.#stack.use(await Cluster.start(home));
    await this.#startDatabase();
    // Its endpoint is that of both edges: a proxy would stand there.
    this.state = await plan(
      this.#urls((node) => this.cluster.clientPort(node)),
      `postgres://127.0.0.1:${this.#databasePort}/cortex`,
    );
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
    this.#databasePort = await freePort();
    const logFile = join(this.home.logs, 'postgres.log');
    this.#database = await this.#keep('postgres', () =>
      startPostgres({ dir: this.home.postgres, port: this.#databasePort, logFile }),
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
    const away = async (port: number): Promise<number> => {
      const link = this.#stack.use(await Link.to(port));
      this.#links[host].push(link);
      return link.port;
    };
    const ports = new Map<Node, number>();
    for (const node of NODES) {
      const port = this.cluster.clientPort(node);
      ports.set(node, node === NODE_OF[host] ? port : await away(port));
    }
    const database = `postgres://127.0.0.1:${await away(this.#databasePort)}/cortex`;
    const state = { ...this.state, nats_url: this.#urls((node) => ports.get(node) ?? 0), database_url: database };
    const groups = this.options.each ? SERVICES.map((name) => [name]) : [['mcp-edge'] as const, SERVICES.slice(1)];
    for (const services of groups) await this.#startMember(host, services, state);
  }

  async #startMember(host: Host, services: readonly ServiceName[], at: UpState): Promise<void> {
    const [open, webhooks, devices] = await Promise.all([freePort(), freePort(), freePort()]);
    const state = { ...at, ports: { ...at.ports, public: open, webhooks, devices } };
    const name = `${host}/${services.length === 1 ? String(services[0]) : 'services'}`;
    const env = {
      ...serviceEnvironment(services, this.home, state, this.secrets, process.env),
      CORTEX_OPS_PORT: String(open),
      CORTEX_RATE_LIMIT_PER_MINUTE: '1000000000',
    };
    const logFile = this.#log(name);
    const begin = Promise.resolve();
    const start = async () => startServiceProcess({ services, env, logFile, port: open, begin });
    const kept = await this.#keep(name, start);
    this.#members.set(name, { kept, ops: `http://127.0.0.1:${open}`, start });
    if (services.includes('mcp-edge')) this.edges.push({ host, port: open });
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

  #urls = (port: (node: Node) => number): string => NODES.map((node) => `nats://127.0.0.1:${port(node)}`).join(',');

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ kept }) => kept.stop(STOP_MS)));
    await this.#stack.disposeAsync();
  }
}
