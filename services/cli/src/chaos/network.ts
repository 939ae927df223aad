import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Link, type Address } from './link.js';
import { Wire } from './wire.js';

/** Where services run, and where bus node, database and issuer are that run beside none. */
export const HOSTS = ['a', 'b'] as const;
export type Host = (typeof HOSTS)[number];
export type Place = Host | 'rest';

/** What is between the hosts of a fleet. */
export interface Network extends AsyncDisposable {
  /** What a program at a place listens on. */
  address(place: Place): string;
  /** Argv before that of a program that runs there. */
  enter(place: Place): readonly string[];
  /** How one place reaches a port of another. */
  way(from: Place, to: Place, port: number): Promise<Address>;
  /** The same for what listens on the loopback address there and is looked for on the loopback address here. */
  loopback(from: Place, to: Place, port: number): Promise<void>;
  /** Cuts a host off from every other place, or mends that. */
  cutOff(host: Host, cut: boolean): void;
}

const LOOPBACK = '127.0.0.1';

/** All on the loopback address; ways are relays that stop passing bytes on. Runs everywhere; callers of the fleet reach a host that is cut off. */
export class Relays implements Network {
  readonly #links: { between: readonly Place[]; link: Link }[] = [];

  address(): string {
    return LOOPBACK;
  }

  enter(): readonly string[] {
    return [];
  }

  async way(from: Place, to: Place, port: number): Promise<Address> {
    if (from === to) return { host: LOOPBACK, port };
    const link = await Link.to({ host: LOOPBACK, port });
    this.#links.push({ between: [from, to], link });
    return { host: LOOPBACK, port: link.port };
  }

  async loopback(): Promise<void> {}

  cutOff(host: Host, cut: boolean): void {
    for (const { between, link } of this.#links) {
      if (!between.includes(host)) continue;
      if (cut) link.cut();
      else link.mend();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { link } of this.#links) await link[Symbol.asyncDispose]();
  }
}

/** Host b in a network namespace of its own: what is lost is lost to the kernel too. Callers do not reach it either while it is cut off. */
export class Namespaces implements Network {
  readonly #wire = Wire.lay();
  readonly #links: Link[] = [];
  readonly #doors: ChildProcess[] = [];

  address(place: Place): string {
    return place === 'b' ? this.#wire.there : this.#wire.here;
  }

  enter(place: Place): readonly string[] {
    return place === 'b' ? this.#wire.into : [];
  }

  async way(_from: Place, to: Place, port: number): Promise<Address> {
    return { host: this.address(to), port };
  }

  async loopback(from: Place, to: Place, port: number): Promise<void> {
    if (from !== 'b' || to === 'b') return;
    const outside = await Link.to({ host: LOOPBACK, port }, { host: this.#wire.here });
    this.#links.push(outside);
    const main = fileURLToPath(new URL('link-main.js', import.meta.url));
    const [program = '', ...argv] = this.#wire.into;
    const door = fork(main, [String(port), this.#wire.here, String(outside.port)], {
      execPath: program,
      execArgv: [...argv, process.execPath],
    });
    this.#doors.push(door);
    await once(door, 'message');
  }

  cutOff(host: Host, cut: boolean): void {
    if (host !== 'b') throw new Error(`only host b is at the end of the wire, not ${host}`);
    if (cut) this.#wire.cut();
    else this.#wire.mend();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const door of this.#doors) door.kill('SIGKILL');
    for (const link of this.#links) await link[Symbol.asyncDispose]();
    this.#wire.take();
  }
}
