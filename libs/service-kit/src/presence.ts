import { hostname } from 'node:os';
import type { Bus } from '@cortex/bus';
import { BUCKETS, invalidArgument, type AnnouncedTool } from '@cortex/contracts';
import { packAnnouncement } from '@cortex/contracts/announcement';
import type { Logger } from 'pino';

const RENEW_MS = 3_000;

/**
 * Tells the edge what a service offers (`cortex_tools`, stays) and that this instance lives (`cortex_nodes`, ten seconds,
 * renewed every three).
 */
export class Presence {
  readonly #key: string;
  readonly #node: string;
  #announcing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #busy = false;
  #unsubscribe: (() => void) | undefined;

  constructor(
    readonly bus: Bus,
    readonly service: string,
    readonly version: string,
    /** The tools as they are now. */
    readonly tools: () => AnnouncedTool[],
    readonly log: Logger,
  ) {
    this.#key = `${service}.${bus.instance}`;
    this.#node = JSON.stringify({
      service,
      instance: bus.instance,
      version,
      host: hostname(),
      pid: process.pid,
      started_at: new Date().toISOString(),
    });
  }

  /** First the tools, then the life sign: nobody sees an instance whose tools are not known. */
  async begin(): Promise<void> {
    await this.announce();
    await this.#renew();
    this.#timer = setInterval(() => this.#tick(), RENEW_MS).unref();
    // What the edge learned may have gone with the server that held it.
    this.#unsubscribe = this.bus.onStatus((up) => up && this.#tick(true));
  }

  /** At an orderly stop the tools leave the list at once rather than after ten seconds. */
  async end(): Promise<void> {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#unsubscribe?.();
    await this.#renewing;
    if (!this.bus.up) return;
    await this.bus
      .kv(BUCKETS.nodes.name)
      .delete(this.#key)
      .catch((error: unknown) => this.log.warn({ err: error }, 'could not take back the life sign; it lapses in 10 s'));
  }

  /** Tells what the tools are now. One at a time, so that the last word is the newest. */
  announce(): Promise<void> {
    const mine = this.#announcing.then(() => this.#announce());
    this.#announcing = mine.catch(() => undefined);
    return mine;
  }

  async #announce(): Promise<void> {
    const value = packAnnouncement({ service: this.service, version: this.version, tools: this.tools() });
    if (value.length > this.bus.maxPayload) {
      throw invalidArgument(
        'tools',
        `of ${this.service} have ${value.length} bytes, compressed, and the bus takes ${this.bus.maxPayload} in one message`,
        'offer fewer, shorten what they say of themselves, or raise max_payload of NATS',
        { reason: 'too_large' },
      );
    }
    const bucket = this.bus.kv(BUCKETS.tools.name);
    const there = await bucket.get(this.service);
    // An unchanged list is not written again: every write wakes every edge.
    if (there && value.equals(there.value)) return;
    await bucket.put(this.service, value);
  }

  async #renew(): Promise<void> {
    await this.bus.kv(BUCKETS.nodes.name).put(this.#key, this.#node);
  }

  #tick(announce = false): void {
    // A slow server gets no queue of life signs.
    if (!this.bus.up || (this.#busy && !announce)) return;
    this.#busy = true;
    this.#renewing = this.#renewing
      .then(() => (announce ? this.announce() : undefined))
      .then(() => (this.#timer ? this.#renew() : undefined))
      .catch((error: unknown) => this.log.warn({ err: error }, 'could not renew the life sign'))
      .finally(() => (this.#busy = false));
  }
}
