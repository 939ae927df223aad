import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Running } from '@cortex/embedded/child';
import { startNats } from '@cortex/embedded/nats';
import { freePort } from '@cortex/embedded/ports';
import { writePrivate, type Home } from '../home.js';
import type { Network, Place } from './network.js';

/** So many that a majority is left when one is lost. */
export const NODES = ['n1', 'n2', 'n3'] as const;
export type Node = (typeof NODES)[number];
export const PLACE_OF: Readonly<Record<Node, Place>> = { n1: 'a', n2: 'b', n3: 'rest' };

/** Three servers of one JetStream cluster, one at each place; their routes can be cut with the place. */
export class Cluster implements AsyncDisposable {
  readonly #running = new Map<Node, Running>();
  readonly #routes: Record<Node, string[]> = { n1: [], n2: [], n3: [] };

  private constructor(
    private readonly home: Home,
    private readonly network: Network,
    private readonly ports: Record<Node, { client: number; route: number }>,
  ) {}

  static async start(home: Home, network: Network): Promise<Cluster> {
    const port = async () => ({ client: await freePort(), route: await freePort() });
    const ports = { n1: await port(), n2: await port(), n3: await port() };
    const cluster = new Cluster(home, network, ports);
    try {
      for (const from of NODES)
        for (const to of NODES) {
          if (from === to) continue;
          const way = await network.way(PLACE_OF[from], PLACE_OF[to], ports[to].route);
          cluster.#routes[from].push(`nats://${way.host}:${way.port}`);
        }
      await Promise.all(NODES.map((node) => cluster.begin(node)));
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  clientPort(node: Node): number {
    return this.ports[node].client;
  }

  /** Past everything that can be cut. */
  url(node: Node): string {
    return `nats://${this.network.address(PLACE_OF[node])}:${this.ports[node].client}`;
  }

  pid(node: Node): number {
    const running = this.#running.get(node);
    if (running === undefined) throw new Error(`${node} does not run`);
    return running.pid;
  }

  async begin(node: Node): Promise<void> {
    const running = await startNats({
      dir: join(this.home.nats, node),
      host: this.network.address(PLACE_OF[node]),
      enter: this.network.enter(PLACE_OF[node]),
      port: this.ports[node].client,
      configFile: this.#config(node),
      logFile: join(this.home.logs, `nats-${node}.log`),
    });
    this.#running.set(node, running);
  }

  async kill(node: Node): Promise<void> {
    await this.#running.get(node)?.kill();
    this.#running.delete(node);
  }

  async stop(node: Node): Promise<void> {
    await this.#running.get(node)?.stop();
    this.#running.delete(node);
  }

  /** The users of an installation, and the cluster around them. */
  #config(node: Node): string {
    const file = join(this.home.dir, `nats-${node}.conf`);
    const cluster = [
      `server_name: ${node}`,
      'cluster {',
      '  name: cortex',
      `  listen: "${this.network.address(PLACE_OF[node])}:${this.ports[node].route}"`,
      `  routes: ${JSON.stringify(this.#routes[node])}`,
      // Neither clients nor routes are told other ways than those that can be cut.
      '  no_advertise: true',
      '}',
      '',
    ];
    writePrivate(file, readFileSync(this.home.natsConfig, 'utf8') + cluster.join('\n'));
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map((running) => running.kill()));
  }
}
