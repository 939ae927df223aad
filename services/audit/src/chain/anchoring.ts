import { CONFIG, HOST, type ServiceHost } from '@cortex/service-kit';
import { PeriodicTask } from '@cortex/service-kit/periodic-task';
import { ownCommit } from '@cortex/service-kit/own-commit';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Config } from '../config.js';
import { AnchorKey } from './anchor-key.js';
import { chain } from './chain.decider.js';
import { linkAt, type Block } from './links.js';

const LOOK_MS = 5_000;
const HOUR_MS = 3_600_000;

/**
 * Signs points of the hash chain: after every 10,000 records, and of what has come within the hour. Each anchor is an event and a line
 * on standard output, so that whoever rewrites stream and database has to reach the collector of the lines as well.
 */
@Injectable()
export class Anchoring implements OnApplicationShutdown {
  /** Records after which there is an anchor in any case; fewer in tests. */
  every = 10_000;
  readonly #task: PeriodicTask;
  readonly #key: AnchorKey;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(HOST) private readonly host: ServiceHost,
  ) {
    this.#key = new AnchorKey(config.CORTEX_AUDIT_ANCHOR_KEY ?? host.secrets?.audit_anchor_key);
    const work = (signal: AbortSignal): Promise<void> => this.anchor(new Date(), signal);
    this.#task = new PeriodicTask(host, { name: 'anchor the call records', everyMs: LOOK_MS, work });
  }

  onApplicationShutdown(): Promise<void> {
    return this.#task.stop();
  }

  /** Makes the anchors that are due. */
  async anchor(now = new Date(), signal?: AbortSignal): Promise<void> {
    const { store, lines, log } = this.host;
    for (;;) {
      signal?.throwIfAborted();
      const { state: last } = await store.load(chain, null, 'calls');
      const head = await this.#block('order by last_seq desc');
      if (head === undefined || head.last_seq <= last.seq) return;
      const due = last.seq + this.every;
      const full = head.last_seq >= due;
      if (!full && now.getTime() - Date.parse(last.at || '1970-01-01') < HOUR_MS) return;
      // The chain has a gap there only where the stream has one.
      const block = (full && (await this.#block('where first_seq <= $1 and last_seq >= $1', due))) || head;
      const seq = full && block.first_seq <= due ? Math.min(due, block.last_seq) : block.last_seq;
      const anchor = this.#key.sign({ at: now.toISOString(), seq, hash: linkAt(block, seq).toString('hex') });
      const { events } = await store.execute(chain, null, 'calls', { type: 'AnchorCalls', anchor }, ownCommit('audit'));
      if (events.length === 0) continue; // another instance was first
      lines.write(JSON.stringify({ _type: 'cortex_audit_anchor', ...anchor }));
      log.debug({ seq }, 'anchored the call records');
    }
  }

  async #block(which: string, ...values: number[]): Promise<Block | undefined> {
    const { rows } = await this.host.pool.query<{ first_seq: string; last_seq: string; hashes: Buffer }>(
      `select first_seq, last_seq, hashes from call_chain ${which} limit 1`,
      values,
    );
    const [row] = rows;
    return row && { first_seq: Number(row.first_seq), last_seq: Number(row.last_seq), hashes: row.hashes };
  }
}
