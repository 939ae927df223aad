import { fork } from 'node:child_process';
import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Running } from '@cortex/embedded/child';
import { natsServerBinary } from '@cortex/embedded/nats-binary';
import { startNats } from '@cortex/embedded/nats';
import { freePort } from '@cortex/embedded/ports';
import { initPostgres, isPostgresDir, startPostgres } from '@cortex/embedded/postgres';
import { retentionDays } from '@cortex/contracts/retention';
import { SERVICES, type ServiceName } from '@cortex/contracts/services';
import type { Secrets } from '@cortex/service-kit';
import { adminUrl } from '../admin.js';
import { CliError, messageOf } from '../exit.js';
import { openHome, writePrivate, type Home } from '../home.js';
import { identityOf } from '../identity.js';
import { assertFree, innerPorts, publicPorts } from '../ports.js';
import { ensureSecrets } from '../secrets.js';
import { lastWords } from '../tail.js';
import { audienceOf, ownerSub } from '../token.js';
import { version } from '../version.js';
import type { Owner } from './default-workspace.js';
import { provisionerEnvironment, serviceEnvironment, withoutCredentials } from './environment.js';
import { productionRefused, startIssuer, type Issuer } from './issuer.js';
import { Kept } from './kept.js';
import { endLeftovers } from './leftovers.js';
import { rotateLogs } from './logs.js';
import { writeCortexCommand } from './programs.js';
import { waitUntilReady } from './ready.js';
import { startServiceProcess } from './service-process.js';
import { writeSignalCommand } from './signal-command.js';
import { lockHome, writeState, type KeptProcess, type UpState } from './state.js';

export interface UpOptions {
  home: Home;
  each: boolean;
  /** Which of them, in one process; default all. */
  services?: readonly ServiceName[];
  /** How long they may take to be ready, from when bus and database are; default 60,000. */
  readyLimitMs?: number;
  /** Begin without the events and the database of before. */
  reset?: boolean;
  /** `--port`. */
  port?: number;
  env: NodeJS.ProcessEnv;
  tell: (text: string) => void;
}

const READY_LIMIT_MS = 60_000;
const STOP_SERVICES_MS = 25_000;
const STOP_SERVER_MS = 15_000;

/** Starts everything, brings back whatever dies, ends everything in order. */
export class Supervisor {
  readonly #kept: Kept[] = [];
  #unlock: (() => void) | undefined;
  #issuer: Issuer | undefined;
  #rotate: NodeJS.Timeout | undefined;
  #stopped: Promise<void> | undefined;
  /** Settles when nothing is being started any more. */
  #starting: Promise<unknown> = Promise.resolve();
  #state!: UpState;
  #secrets!: Secrets;
  readonly #home: Home;
  readonly #broken = Promise.withResolvers<never>();
  /** Aborts what the start still waits for. */
  readonly #work = new AbortController();

  constructor(private readonly options: UpOptions) {
    this.#home = options.home;
    // Whoever does not wait for it is not to end by it.
    this.#broken.promise.catch(() => undefined);
  }

  /** Rejects when something that was started can never work as it is configured, and says why. */
  get broken(): Promise<never> {
    return this.#broken.promise;
  }

  get state(): UpState {
    return this.#state;
  }

  get #services(): readonly ServiceName[] {
    return this.options.services ?? SERVICES;
  }

  /** Resolves when everything is ready. When it throws, all that was started has been ended. */
  async start(): Promise<UpState> {
    const { env, tell } = this.options;
    const home = this.#home;
    if (env['NODE_ENV'] === 'production' && !env['OAUTH_ISSUER']) throw productionRefused();
    openHome(home);
    this.#unlock = lockHome(home);
    try {
      await endLeftovers(home, tell);
      if (this.options.reset) this.#deleteData();
      rotateLogs(home.logs, false);
      this.#secrets = await ensureSecrets(home);
      this.#state = await this.#plan();
      writeState(home, this.#state);
      writeSignalCommand(home, this.#state.ports.webhooks);
      writeCortexCommand(home);
      await this.#startAll();
      this.#rotate = setInterval(() => this.#whileUp(() => rotateLogs(home.logs, true)), 60_000).unref();
      this.#work.signal.throwIfAborted();
      this.#state.ready = true;
      writeState(home, this.#state);
      return this.#state;
    } catch (error) {
      // What went wrong after a stop was asked for is only the stop's own doing.
      const asked = this.#stopped !== undefined;
      await this.stop();
      throw asked ? new CliError('stopped while starting') : error;
    }
  }

  #deleteData(): void {
    for (const folder of [this.#home.nats, this.#home.postgres]) rmSync(folder, { recursive: true, force: true });
    this.options.tell('data of the home deleted');
  }

  async #plan(): Promise<UpState> {
    const { env, each, port } = this.options;
    const open = publicPorts(env, port);
    const ownIssuer = !env['OAUTH_ISSUER'];
    await assertFree(ownIssuer ? open : { public: open.public, webhooks: open.webhooks, devices: open.devices });
    const inner = await innerPorts(this.#home);
    const nats = env['CORTEX_NATS_URL'] || undefined;
    const database = env['CORTEX_DATABASE_URL'] || undefined;
    const endpoint = `http://127.0.0.1:${open.public}/mcp`;
    return {
      supervisor: identityOf(process.pid),
      version,
      since: new Date().toISOString(),
      ready: false,
      each,
      endpoint,
      canonical_uri: env['CORTEX_CANONICAL_URI'] || endpoint,
      issuer: ownIssuer ? `http://127.0.0.1:${open.issuer}` : null,
      nats_url: withoutCredentials(nats ?? `nats://127.0.0.1:${inner.nats}`),
      database_url: withoutCredentials(database ?? `postgres://127.0.0.1:${inner.postgres}/cortex`),
      ports: { ...open, ...(!nats && { nats: inner.nats }), ...(!database && { postgres: inner.postgres }) },
      processes: [],
    };
  }

  async #startAll(): Promise<void> {
    const { tell } = this.options;
    const { nats, postgres, issuer } = this.#state.ports;
    const provisioned = Promise.withResolvers<void>();
    // Whoever begins after it is told by its own failure.
    provisioned.promise.catch(() => undefined);
    try {
      // Of an earlier run that was killed.
      rmSync(this.#home.loginCode, { force: true });
      if (this.#state.issuer !== null) await this.#startIssuer(issuer);
      const provisioner = this.#startProvisioner();
      // Their code loads while bus and database start; they begin when these are provisioned.
      const services = this.#startServices(provisioned.promise);
      const database = postgres === undefined ? Promise.resolve() : this.#startPostgres(postgres);
      const bus = provisioner.configured.then(() => (nats === undefined ? undefined : this.#startNats(nats)));
      this.#starting = Promise.allSettled([database, bus, services]);
      await Promise.all([database, bus, services]);
      tell('provisioning bus and database');
      await provisioner.provision(adminUrl(this.#state, this.#secrets, this.options.env));
      provisioned.resolve();
      tell('waiting for the services to be ready');
      await this.#untilReady();
      // Made by whom workspaces belong to.
      if (this.#services.includes('team')) await provisioner.makeWorkspace(this.#owner());
      else provisioner.dismiss();
    } finally {
      provisioned.reject(new Error('never provisioned'));
    }
  }

  /** Null where tokens are somebody else's and nobody said who of theirs owns this home. */
  #owner(): Owner | null {
    const { env } = this.options;
    if (this.#state.issuer === null && !env['CORTEX_OWNER_SUB']) return null;
    return { issuer: this.#state.issuer ?? String(env['OAUTH_ISSUER']), sub: ownerSub(env) };
  }

  async #startIssuer(port: number): Promise<void> {
    const { env } = this.options;
    const { canonical_uri } = this.#state;
    this.#issuer = await startIssuer({
      port,
      key: this.#secrets.issuer,
      file: this.#home.logins,
      canonicalUri: canonical_uri,
      audience: audienceOf(canonical_uri, env),
      owner: ownerSub(env),
      env,
      tell: (text) => this.#note(text),
    });
    writePrivate(this.#home.loginCode, `${this.#issuer.loginCode}\n`);
  }

  async #startNats(port: number): Promise<void> {
    const { tell } = this.options;
    const binary = await natsServerBinary({ dir: this.#home.bin, progress: tell });
    this.#work.signal.throwIfAborted();
    tell('starting nats-server');
    await this.#keep('nats', 'nats', (logFile) =>
      startNats({ dir: this.#home.nats, port, configFile: this.#home.natsConfig, binary, logFile }),
    );
  }

  async #startPostgres(port: number): Promise<void> {
    const { tell } = this.options;
    if (!isPostgresDir(this.#home.postgres)) {
      const hint = existsSync(join(this.#home.nats, 'jetstream'))
        ? '; the log is older than it, so fill it when up is ready: cortex projections rebuild --all'
        : '';
      tell(`making the database${hint}`);
      const { user, password } = this.#secrets.database.admin;
      await initPostgres(this.#home.postgres, password, user);
    }
    this.#work.signal.throwIfAborted();
    tell('starting PostgreSQL');
    await this.#keep('postgres', 'postgres', (logFile) => startPostgres({ dir: this.#home.postgres, port, logFile }));
  }

  async #startServices(begin: Promise<void>): Promise<void> {
    const groups = this.options.each ? this.#services.map((name) => [name]) : [this.#services];
    for (const services of groups) {
      const holdsEdge = services.includes('mcp-edge');
      const port = holdsEdge ? this.#state.ports.public : await freePort();
      const env = {
        ...serviceEnvironment(services, this.#home, this.#state, this.#secrets, this.options.env),
        CORTEX_OPS_PORT: String(port),
      };
      const name = services.length === 1 ? String(services[0]) : 'services';
      await this.#keep(
        name,
        'services',
        async (logFile) => startServiceProcess({ services, env, logFile, trailFile: this.#home.trail, port, begin }),
        `http://127.0.0.1:${port}`,
      );
    }
  }

  async #keep(
    name: string,
    kind: KeptProcess['kind'],
    start: (logFile: string) => Promise<Running>,
    ops?: string,
  ): Promise<void> {
    const log = join(this.#home.logs, `${name}.log`);
    const kept = new Kept(name, () => start(log), {
      started: ({ pid, port }, restarts) => {
        const entry: KeptProcess = {
          ...identityOf(pid),
          name,
          kind,
          since: new Date().toISOString(),
          restarts,
          port,
          ops,
          log,
        };
        const others = this.#state.processes.filter((process) => process.name !== name);
        this.#state.processes = [...others, entry];
        this.#whileUp(() => writeState(this.#home, this.#state));
        if (restarts > 0) this.#note(`${name} is back (pid ${pid})`);
      },
      died: (why, waitMs) => this.#note(`${name} ${why}; starting it again in ${waitMs} ms`),
      refused: () => {
        const error = new CliError(`${name} cannot work with this configuration:\n${lastWords(log)}`);
        this.#broken.reject(error);
      },
    });
    // A stop may have come in between, and would not know of this one.
    this.#work.signal.throwIfAborted();
    this.#kept.push(kept);
    await kept.begin();
  }

  /** What happens after the start is told at the terminal, and kept for `logs`. */
  #note(text: string): void {
    this.options.tell(text);
    const line = `${new Date().toISOString()} ${text}\n`;
    this.#whileUp(() => appendFileSync(join(this.#home.logs, 'up.log'), line, { mode: 0o600 }));
  }

  /** A full disk or a removed folder must not end what still works. */
  #whileUp(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.options.tell(messageOf(error));
    }
  }

  async #untilReady(): Promise<void> {
    const processes = this.#state.processes.filter(({ kind }) => kind === 'services');
    const died = () => this.#state.processes.find(({ kind, restarts }) => kind === 'services' && restarts > 0);
    const { tell, readyLimitMs: limitMs = READY_LIMIT_MS } = this.options;
    const ready = waitUntilReady(processes, { limitMs, tell, died, signal: this.#work.signal });
    await Promise.race([ready, this.broken]);
  }

  #startProvisioner() {
    const main = fileURLToPath(new URL('../provision-main.js', import.meta.url));
    const child = fork(main, [], {
      env: {
        ...provisionerEnvironment(this.options.env),
        CORTEX_HOME: this.#home.dir,
        NODE_COMPILE_CACHE: this.#home.compiled,
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Nothing is lost when a provisioning is cut off: the next one finishes it.
      signal: this.#work.signal,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4096)));
    child.on('error', () => undefined); // the signal's own
    const step = (wanted: string) =>
      new Promise<void>((resolve, reject) => {
        child.on('message', (message: { step?: string; error?: string }) => {
          if (message.step === wanted) resolve();
          if (message.error !== undefined) reject(new CliError(`provisioning failed: ${message.error}`));
        });
        child.once('exit', (code) => reject(new CliError(`provisioning ended with code ${code}: ${said.trim()}`)));
      });
    const configured = step('config');
    const done = step('done');
    const workspace = step('workspace');
    // Told by whoever waits for them, or nobody asks any more.
    for (const one of [done, workspace]) one.catch(() => undefined);
    return {
      configured,
      provision: (adminUrl: string) => {
        child.send({
          nats_url: this.#state.nats_url,
          admin_url: adminUrl,
          calls_days: retentionDays(this.options.env['CORTEX_AUDIT_RETENTION_DAYS']),
        });
        return done;
      },
      makeWorkspace: (owner: Owner | null) => {
        child.send({ owner });
        return workspace;
      },
      dismiss: () => void child.send({}),
    };
  }

  /** Services first, since they still need the others to finish what they do; then PostgreSQL, then NATS. */
  stop(): Promise<void> {
    this.#work.abort();
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<void> {
    // Whoever is not started yet sees the abort; a fetch or a first database is waited for.
    await this.#starting;
    const kept = (name: string) => this.#kept.filter((one) => one.name === name);
    const servers = [...kept('postgres'), ...kept('nats')];
    clearInterval(this.#rotate);
    const services = this.#kept.filter((one) => !servers.includes(one));
    await Promise.all(services.map((one) => one.stop(STOP_SERVICES_MS)));
    for (const server of servers) await server.stop(STOP_SERVER_MS);
    await this.#issuer?.close();
    this.#whileUp(() => rmSync(this.#home.loginCode, { force: true }));
    if (this.#state !== undefined) {
      this.#state.processes = [];
      this.#state.ready = false;
      this.#whileUp(() => writeState(this.#home, this.#state));
    }
    this.#unlock?.();
  }

  /** For somebody who will not wait: nothing answered is lost by it. */
  async kill(): Promise<void> {
    await Promise.all(this.#kept.flatMap(({ running }) => (running === undefined ? [] : [running.kill()])));
  }
}
