import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface Address {
  host: string;
  port: number;
}

/**
 * A TCP way between two hosts that can be cut. A cut link is a black hole, not a closed door: what is sent into it vanishes from sight, connections
 * stay open and new ones get no answer, as when a switch dies. What was on its way arrives after it is mended.
 */
export class Link implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Map<Socket, Socket>();
  #cut = false;

  private constructor(private readonly target: Address) {
    this.#server = createServer({ pauseOnConnect: true }, (near) => this.#join(near));
  }

  /** `at` is where it listens; by default a free port of the loopback address. */
  static async to(target: Address, { host = '127.0.0.1', port = 0 }: Partial<Address> = {}): Promise<Link> {
    const link = new Link(target);
    link.#server.listen(port, host);
    await once(link.#server, 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    this.#cut = true;
    for (const pair of this.#pairs) for (const side of pair) side.pause();
  }

  mend(): void {
    this.#cut = false;
    for (const pair of this.#pairs) for (const side of pair) side.resume();
  }

  #join(near: Socket): void {
    const far = connect(this.target);
    this.#pairs.set(near, far);
    const end = (): void => {
      this.#pairs.delete(near);
      near.destroy();
      far.destroy();
    };
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true);
      // Not piped: a pipe would resume a side that a cut has paused.
      from.on('data', (bytes) => {
        to.write(bytes);
      });
      from.once('close', end).once('error', end);
    }
    if (this.#cut) for (const side of [near, far]) side.pause();
    else near.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pair of this.#pairs) for (const side of pair) side.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
