import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Running } from '@cortex/embedded/child';
import { startNats } from '@cortex/embedded/nats';
import { freePort } from '@cortex/embedded/ports';
import { writePrivate, type Home } from '../home.js';
import { Link } from './link.js';

/** So many that a majority is left when one is lost. */
export const NODES = ['n1', 'n2', 'n3'] as const;
export type Node = (typeof NODES)[number];

/** Three servers of one JetStream cluster. Routes run over links, one for each direction, so that a node can be cut off. */
export class Cluster implements AsyncDisposable {
  readonly #running = new Map<Node, Running>();
  /** From one node to another. */
  readonly #routes: { from: Node; to: Node; link: Link }[] = [];

  private constructor(
    private readonly home: Home,
    private readonly ports: Record<Node, { client: number; route: number }>,
  ) {}

  static async start(home: Home): Promise<Cluster> {
    const port = async () => ({ client: await freePort(), route: await freePort() });
    const ports = { n1: await port(), n2: await port(), n3: await port() };
    const cluster = new Cluster(home, ports);
    try {
      for (const from of NODES)
        for (const to of NODES)
          if (from !== to) cluster.#routes.push({ from, to, link: await Link.to(ports[to].route) });
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

  pid(node: Node): number {
    const running = this.#running.get(node);
    if (running === undefined) throw new Error(`${node} does not run`);
    return running.pid;
  }

  async begin(node: Node): Promise<void> {
    const running = await startNats({
      dir: join(this.home.nats, node),
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

  /** Cuts every route from and to a node, or mends them. */
  cutOff(node: Node, cut: boolean): void {
    for (const { from, to, link } of this.#routes)
      if (from === node || to === node) {
        if (cut) link.cut();
        else link.mend();
      }
  }

  /** The users of an installation, and the cluster around them. */
  #config(node: Node): string {
    const routes = this.#routes.filter(({ from }) => from === node).map(({ link }) => `nats://127.0.0.1:${link.port}`);
    const file = join(this.home.dir, `nats-${node}.conf`);
    const cluster = [
      `server_name: ${node}`,
      'cluster {',
      '  name: cortex',
      `  listen: "127.0.0.1:${this.ports[node].route}"`,
      `  routes: ${JSON.stringify(routes)}`,
      // Neither clients nor routes are told other ways than the links.
      '  no_advertise: true',
      '}',
      '',
    ];
    writePrivate(file, readFileSync(this.home.natsConfig, 'utf8') + cluster.join('\n'));
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map((running) => running.kill()));
    for (const { link } of this.#routes) await link[Symbol.asyncDispose]();
  }
}
