import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, Log } from '@cortex/bus';
import { streamOf } from '@cortex/contracts';
import { newest, readEvents } from './commit.js';
import { ACK_WAIT_MS } from './provision-bus.js';
import { consumerState, Pull, type Delivered } from './pull.js';
import type { Reactor, ReactorContext } from './reactor.js';

export interface ReactorRunnerOptions {
  bus: Bus;
  reactors: readonly Reactor[];
  /** Commits that one reactor of this instance works on at once, default 16. */
  concurrency?: number;
  /** What the consumers were provisioned with; default ACK_WAIT_MS. */
  ackWaitMs?: number;
  log?: Log;
}

export interface ReactorLag {
  reactor: string;
  /** Messages not given out yet, and given out but not done; null when the bus is away. */
  pending: number | null;
  skipped: number;
  failed: number;
}

const IDLE_MS = 30_000;
const STOP_MS = 5_000;
/** For handlers to notice that their signal was aborted. */
const ABANDON_MS = 1_000;
const NS = 1_000_000;
const LONGEST_DELAY_MS = 60_000;

/**
 * Runs reactors: each commit at least once, by whichever instance pulls it, those of one aggregate one after the other. A
 * handler that works on says so to the server, so the wait before another instance takes over is short (P80). One that
 * throws is tried again later, for ever, ever more rarely; what comes after it does not wait.
 */
export class ReactorRunner {
  readonly #options: ReactorRunnerOptions;
  readonly #log: Log;
  readonly #stop = new AbortController();
  readonly #abandon = new AbortController();
  readonly #counts = new Map<string, { skipped: number; failed: number }>();
  #loops: Promise<void>[] = [];

  constructor(options: ReactorRunnerOptions) {
    this.#options = options;
    this.#log = options.log ?? (() => {});
    for (const { name } of options.reactors) this.#counts.set(name, { skipped: 0, failed: 0 });
  }

  start(): void {
    if (this.#loops.length > 0) return;
    this.#loops = this.#options.reactors.map((reactor) => this.#loop(reactor));
  }

  /** Takes nothing new, lets handlers end for so long, then aborts their signal; what they did not finish comes again. */
  async stop(graceMs = STOP_MS): Promise<void> {
    this.#stop.abort();
    const ended = Promise.all(this.#loops);
    await Promise.race([ended, sleep(graceMs, undefined, { ref: false })]);
    this.#abandon.abort();
    await Promise.race([ended, sleep(ABANDON_MS, undefined, { ref: false })]);
  }

  lag(): Promise<ReactorLag[]> {
    return Promise.all(
      this.#options.reactors.map(async ({ name, subject }) => {
        const state = await consumerState(this.#options.bus, streamOf(subject), name).catch(() => null);
        const counts = this.#counts.get(name) ?? { skipped: 0, failed: 0 };
        return { reactor: name, pending: state && state.num_pending + state.num_ack_pending, ...counts };
      }),
    );
  }

  async #loop(reactor: Reactor): Promise<void> {
    const { bus, concurrency = 16 } = this.#options;
    const { signal } = this.#stop;
    const turns = new Map<string, Promise<void>>();
    const running = new Set<Promise<void>>();
    let pause = 50;
    while (!signal.aborted) {
      let pull: Pull | undefined;
      try {
        pull = new Pull({ bus, stream: streamOf(reactor.subject), consumer: reactor.name, batch: concurrency });
        while (!signal.aborted) {
          if (running.size >= concurrency) await Promise.race(running);
          const messages = await pull.next(IDLE_MS, signal, concurrency - running.size);
          pause = 50;
          for (const message of messages) {
            const turn = (turns.get(message.subject) ?? Promise.resolve()).then(() => this.#handle(reactor, message));
            const done = turn.finally(() => {
              running.delete(done);
              if (turns.get(message.subject) === done) turns.delete(message.subject);
            });
            turns.set(message.subject, done);
            running.add(done);
          }
        }
      } catch (error) {
        this.#log('warn', 'a reactor waits', { reactor: reactor.name, error: String(error) });
        await sleep(pause, undefined, { signal }).catch(() => {});
        pause = Math.min(pause * 2, 2000);
      } finally {
        pull?.close();
      }
    }
    await Promise.all(running);
  }

  /** Never rejects. */
  async #handle(reactor: Reactor, message: Delivered): Promise<void> {
    const { bus, ackWaitMs = ACK_WAIT_MS } = this.#options;
    const counts = this.#counts.get(reactor.name)!;
    const fields = { reactor: reactor.name, seq: message.seq, subject: message.subject };
    const read = readEvents(message);
    if ('garbage' in read) {
      counts.skipped++;
      this.#log('warn', 'skipped a message', { ...fields, because: read.garbage });
      bus.publish(message.ack, '+TERM');
      return;
    }
    const working = setInterval(() => bus.publish(message.ack, '+WPI'), ackWaitMs / 3);
    const context: ReactorContext = { signal: this.#abandon.signal, delivery: message.delivery, log: this.#log };
    try {
      for (const recorded of read.events) {
        const handler = Object.hasOwn(reactor.on, recorded.type) ? reactor.on[recorded.type] : undefined;
        if (!handler) continue;
        const event = newest(recorded, reactor);
        if (event) {
          await handler(event, context);
        } else {
          counts.skipped++;
          this.#log('warn', 'skipped an event of a newer release', { ...fields, type: recorded.type });
        }
      }
      bus.publish(message.ack, '+ACK');
    } catch (error) {
      counts.failed++;
      const delay = Math.min(1000 * 2 ** (message.delivery - 1), LONGEST_DELAY_MS);
      this.#log('error', 'a reactor failed, it is tried again', { ...fields, delay_ms: delay, error: String(error) });
      bus.publish(message.ack, `-NAK ${JSON.stringify({ delay: delay * NS })}`);
    } finally {
      clearInterval(working);
    }
  }
}
