import { cp } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectBus, type Bus } from '@cortex/bus';
import { SERVICES, type ServiceName } from '@cortex/contracts/services';
import type { Running } from '@cortex/embedded/child';
import { freePort } from '@cortex/embedded/ports';
import type { ServiceDefinition } from '@cortex/service-kit';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { asProvisioner as withProvisioner, type Admin } from '../../admin.js';
import { CliError } from '../../exit.js';
import { loadServices } from '../../services.js';
import { tailOf } from '../../tail.js';
import { makeToken } from '../../token.js';
import { serviceEnvironment } from '../../up/environment.js';
import { askReady } from '../../up/ready.js';
import { startServiceProcess } from '../../up/service-process.js';
import { until } from '../edge-with.js';
import { asProvisioner, startGround, type Ground } from '../ground.js';
import { openSockets, startProgram, treeCpuSeconds, treeMiB } from '../processes.js';
import { toolCall } from '../request.js';
import { send } from '../send.js';
import type { Team } from './crowd.js';
import type { OwnPart } from './judge.js';

/** What a Cortex holds that is to be gone when its callers are. */
export interface Held {
  sessions: number;
  streams: number;
  edge_sockets: number;
  services_sockets: number;
  consumers: number;
}

/** Cold, with a long log to read first. */
const READY_MS = 600_000;
const ALL_BUT_THE_EDGE = SERVICES.filter((name) => name !== 'mcp-edge');

/**
 * All that `up` starts, on a ground of its own: broker, database, the edge as one process and all other services as another, so that it shows
 * which of them is the dearest. Everything is on as shipped; only the limit of the limiter is out of reach.
 */
export class Whole implements AsyncDisposable {
  readonly #running = new Map<'edge' | 'services', Running>();
  readonly #stack = new AsyncDisposableStack();
  readonly teams: Team[] = [];

  private constructor(
    readonly ground: Ground,
    readonly definitions: readonly ServiceDefinition[],
    private readonly settings: NodeJS.ProcessEnv,
    private readonly signal: AbortSignal,
  ) {}

  /** Broker and database, provisioned; no service runs yet. */
  static async prepare(signal: AbortSignal): Promise<Whole> {
    await using stack = new AsyncDisposableStack();
    const definitions = (await loadServices()).map(({ def }) => def);
    const ground = stack.use(await startGround(definitions));
    const sink = stack.use(await startProgram('otlp-sink.js'));
    const settings = {
      ...process.env,
      CORTEX_RATE_LIMIT_PER_MINUTE: '1000000000',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${Number(sink.said['port'])}`,
    };
    const whole = new Whole(ground, definitions, settings, signal);
    whole.#stack.use(stack.move());
    return whole;
  }

  /** With all of it running; the logs of its processes are left in the folder `logs`, if one is given. */
  static async start(signal: AbortSignal, logs?: string): Promise<Whole> {
    const whole = await Whole.prepare(signal);
    if (logs !== undefined) whole.#stack.defer(() => cp(whole.ground.home.logs, logs, { recursive: true }));
    try {
      await whole.begin('services');
      await whole.begin('edge');
      return whole;
    } catch (error) {
      await whole[Symbol.asyncDispose]();
      throw error;
    }
  }

  get port(): number {
    return this.ground.state.ports.public;
  }

  /** Resolves with the milliseconds from its start until the process takes work. */
  async begin(part: 'edge' | 'services'): Promise<number> {
    const { home, state, secrets, log } = this.ground;
    const names: readonly ServiceName[] = part === 'edge' ? ['mcp-edge'] : ALL_BUT_THE_EDGE;
    const port = part === 'edge' ? this.port : await freePort();
    const began = performance.now();
    const env = {
      ...serviceEnvironment(names, home, state, secrets, this.settings),
      CORTEX_OPS_PORT: String(port),
    };
    const begin = Promise.resolve();
    const running = startServiceProcess({ services: names, env, logFile: log(part), port, begin });
    this.#running.set(part, running);
    let ended = false;
    void running.exited.then(() => (ended = true));
    const ready = async () => {
      this.signal.throwIfAborted();
      if (ended) throw new CliError(`${part} ended while starting:\n${tailOf(log(part), 15)}`);
      return (await askReady(`http://127.0.0.1:${port}`)).ready;
    };
    await until(`ready (${part})`, log(part), ready, READY_MS);
    return performance.now() - began;
  }

  async stop(part: 'edge' | 'services'): Promise<void> {
    await this.#running.get(part)?.stop();
    this.#running.delete(part);
  }

  /** People, each with a workspace of their own in which nothing asks; `count` of them in all. */
  async makeTeams(count: number): Promise<void> {
    const { home, state, secrets, nats } = this.ground;
    await withProvisioner(nats.url, secrets, async ({ ask }) => {
      for (let n = this.teams.length; n < count; n++) {
        this.signal.throwIfAborted();
        const sub = `load-${n}`;
        await makeTeam(ask, String(state.issuer), sub);
        this.teams.push({ token: makeToken(home, {}, { sub }), workspace_id: sub });
      }
    });
    for (const { token, workspace_id } of this.teams) {
      const list = toolCall({ port: this.port, token }, 'list_tickets', { workspace_id });
      const lists = async () => (await send(this.port, list)).includes('"structuredContent"');
      await until(`listing tickets of ${workspace_id}`, this.ground.log('edge'), lists);
    }
  }

  pids(): Record<OwnPart, number> {
    const of = (part: 'edge' | 'services') => this.#running.get(part)?.pid ?? 0;
    const { nats, postgres } = this.ground;
    return { edge: of('edge'), services: of('services'), broker: nats.pid, postgres: postgres.pid };
  }

  /** MiB of each part that runs; pages that processes of the database share are counted once. */
  memory(): Record<OwnPart, number> {
    return this.#each(treeMiB);
  }

  /** Seconds of CPU since the start of each part. */
  cpu(): Record<OwnPart, number> {
    return this.#each(treeCpuSeconds);
  }

  #each(measure: (pid: number) => number): Record<OwnPart, number> {
    const { edge, services, broker, postgres } = this.pids();
    const of = (pid: number) => (pid === 0 ? 0 : measure(pid));
    return { edge: of(edge), services: of(services), broker: of(broker), postgres: of(postgres) };
  }

  /** As the edge counts them, the kernel and the broker. */
  async held(): Promise<Held> {
    const text = await (await fetch(`http://127.0.0.1:${this.port}/metrics`)).text();
    const sum = (name: string) =>
      [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))].reduce((all, [, n]) => all + Number(n), 0);
    const { edge, services } = this.pids();
    return {
      sessions: sum('gw_sessions'),
      streams: sum('gw_streams'),
      edge_sockets: openSockets(edge),
      services_sockets: openSockets(services),
      consumers: await this.#consumers(),
    };
  }

  /** Of all streams of the broker. */
  async #consumers(): Promise<number> {
    const { servers, user, pass } = asProvisioner(this.ground);
    const nc = await connect({ servers, user, pass, inboxPrefix: `_INBOX_${user}` });
    try {
      let count = 0;
      for await (const { state } of (await jetstreamManager(nc)).streams.list()) count += state.consumer_count;
      return count;
    } finally {
      await nc.close();
    }
  }

  /** On the bus as the one who provisions. */
  async onBus<T>(work: (bus: Bus) => Promise<T>): Promise<T> {
    const bus = await connectBus({ ...asProvisioner(this.ground), service: 'provision' });
    try {
      return await work(bus);
    } finally {
      await bus.close();
    }
  }

  /** Waits, unless the bench is stopped. */
  pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map((running) => running.kill()));
    await this.#stack.disposeAsync();
  }
}

async function makeTeam(ask: Admin['ask'], issuer: string, name: string): Promise<void> {
  const workspace_id = name;
  await ask('cortex.cmd.team.upsert_workspace', { workspace_id, name });
  const { person_id } = await ask<{ person_id: string }>('cortex.cmd.mcp-edge.register_person', { issuer, sub: name });
  await ask('cortex.cmd.team.set_member', { workspace_id, principal_id: person_id, role: 'admin' });
  const rule = { id: 'load-vendor-sync-write', action_class: 'vendorSyncWrite', decision: 'allow' };
  await ask('cortex.cmd.team.set_guard_rule', { workspace_id, rule });
  await ask('cortex.cmd.team.set_approval_mode', { workspace_id, mode: 'write' });
}
