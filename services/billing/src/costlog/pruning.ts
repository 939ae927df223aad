import { tenantDb } from '@cortex/eventstore';
import { CONFIG, HOST, type ServiceHost } from '@cortex/service-kit';
import { PeriodicTask } from '@cortex/service-kit/periodic-task';
import { ownCommit } from '@cortex/service-kit/own-commit';
import { everyWorkspace } from '@cortex/service-kit/ownership';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { dayOf } from '../calendar.js';
import type { Config } from '../config.js';
import type { BillingDb } from '../projections/tables.js';
import { costlog } from './costlog.decider.js';

const KEPT_MS = 90 * 86_400_000;
const LOOK_MS = 3_600_000;

/** Lets rows of cost records go after 90 days, by an event, so that a rebuild lets the same ones go. The records stay in the log. */
@Injectable()
export class Pruning implements OnApplicationShutdown {
  readonly #task: PeriodicTask;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(HOST) private readonly host: ServiceHost,
  ) {
    this.#task = new PeriodicTask(host, { name: 'prune cost records', everyMs: LOOK_MS, work: () => this.prune() });
  }

  onApplicationShutdown(): Promise<void> {
    return this.#task.stop();
  }

  /** Lets go what is older than 90 days at the beginning of today. */
  async prune(now = new Date()): Promise<void> {
    const { pool, store } = this.host;
    const { from } = dayOf(new Date(now.getTime() - KEPT_MS), this.config.TZ);
    let count = 0;
    for (const workspace of await everyWorkspace(this.host)) {
      const { old } = await tenantDb<BillingDb>(pool, workspace)
        .selectFrom('cost_entries')
        .select((eb) => eb.fn.countAll<string>().as('old'))
        .where('timestamp', '<', from)
        .executeTakeFirstOrThrow();
      count += Number(old);
    }
    if (count === 0) return;
    const before = from.toISOString();
    const command = { type: 'PruneCostEntries' as const, before, count };
    await store.execute(costlog, null, 'all', command, ownCommit('billing'));
  }
}
