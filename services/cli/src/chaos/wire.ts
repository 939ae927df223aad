import { execFileSync } from 'node:child_process';
import { which } from '@cortex/embedded/child';
import { CliError } from '../exit.js';

/** Of a range for measurements of networks, which nobody's machine is in. */
const NET = '198.18';
/** Belongs to nobody on the wire, so what is sent to it is lost without a word. */
const NOBODY = '02:00:00:00:00:fe';

/**
 * A second host on this machine: a network namespace of its own, and one wire to it that can be cut. A cut wire is a black hole for both ends, as when
 * a switch dies: the kernels send again for a while, and nobody is told. Linux alone, as root, with iproute2.
 */
export class Wire {
  readonly #name = `cortex-${process.pid}`;
  readonly #near = `cx${process.pid}a`;
  readonly #far = `cx${process.pid}b`;
  /** Our end of the wire, and the other one. */
  readonly here = `${NET}.${process.pid & 255}.1`;
  readonly there = `${NET}.${process.pid & 255}.2`;

  private constructor() {}

  static lay(): Wire {
    const missing = ['ip', 'nsenter'].filter((program) => which(program) === null);
    if (process.platform !== 'linux' || process.getuid?.() !== 0 || missing.length > 0)
      throw new CliError(
        `network namespaces need Linux, root, ip and nsenter${missing.length > 0 ? ` (no ${missing.join(', no ')} here)` : ''}; leave --namespaces out`,
      );
    const wire = new Wire();
    try {
      wire.#ip('netns', 'add', wire.#name);
      wire.#ip('link', 'add', wire.#near, 'type', 'veth', 'peer', 'name', wire.#far, 'netns', wire.#name);
      wire.#ip('addr', 'add', `${wire.here}/30`, 'dev', wire.#near);
      wire.#ip('link', 'set', wire.#near, 'up');
      wire.#ip('-n', wire.#name, 'addr', 'add', `${wire.there}/30`, 'dev', wire.#far);
      for (const link of ['lo', wire.#far]) wire.#ip('-n', wire.#name, 'link', 'set', link, 'up');
      return wire;
    } catch (error) {
      wire.take();
      throw new CliError(`a network namespace could not be made: ${(error as Error).message}`, undefined, {
        cause: error,
      });
    }
  }

  /** Argv before that of a program that runs at the other end. Its pid is the program's own. */
  get into(): readonly string[] {
    return [String(which('nsenter')), `--net=/run/netns/${this.#name}`, '--'];
  }

  cut(): void {
    const lost = (address: string) => ['neigh', 'replace', address, 'lladdr', NOBODY, 'nud', 'permanent', 'dev'];
    this.#ip(...lost(this.there), this.#near);
    this.#ip('-n', this.#name, ...lost(this.here), this.#far);
  }

  mend(): void {
    this.#ip('neigh', 'del', this.there, 'dev', this.#near);
    this.#ip('-n', this.#name, 'neigh', 'del', this.here, 'dev', this.#far);
  }

  /** Away with it; what runs at the other end has been ended before. */
  take(): void {
    for (const argv of [
      ['link', 'del', this.#near],
      ['netns', 'del', this.#name],
    ]) {
      try {
        this.#ip(...argv);
      } catch {
        // It was not made, or went with the other.
      }
    }
  }

  #ip(...argv: string[]): void {
    execFileSync('ip', argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  }
}
