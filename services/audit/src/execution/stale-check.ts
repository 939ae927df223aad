import { tenantDb, waitFor } from '@cortex/eventstore';
import { HOST, type ServiceHost } from '@cortex/service-kit';
import { PeriodicTask } from '@cortex/service-kit/periodic-task';
import { ownCommit } from '@cortex/service-kit/own-commit';
import { everyWorkspace } from '@cortex/service-kit/ownership';
import { NO_WORKSPACE } from '@cortex/contracts';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { AuditDb } from '../projections/tables.js';
import { ownership } from '../projections/ownership.js';
import { execution } from './execution.decider.js';

const LOOK_MS = 60_000;
/**
 * Start and end of a run follow those of its session by reactions, each of which may be tried again a few times, every minute
 * at the latest: so long after it was told of the start a run waits for its end.
 */
const GRACE_MS = 5 * 60_000;

/**
 * Ends what nobody will end any more: an execution that is marked running though its session ended, or is in the log of no
 * session at all. A session that is open has its execution running, whatever its client does: one that was opened by hand
 * has no process that Cortex could look for.
 */
@Injectable()
export class StaleCheck implements OnApplicationShutdown {
  readonly #task: PeriodicTask;

  constructor(@Inject(HOST) private readonly host: ServiceHost) {
    const work = async (): Promise<void> => void (await this.check());
    this.#task = new PeriodicTask(host, { name: 'look for stale executions', everyMs: LOOK_MS, work });
  }

  onApplicationShutdown(): Promise<void> {
    return this.#task.stop();
  }

  /** Answers the executions that it found stale. */
  async check(now = new Date()): Promise<string[]> {
    const { bus, pool, projections: runner, store, log } = this.host;
    // A view that lacks sessions of the log would make orphans of their executions.
    await waitFor({ bus, pool, runner, projection: ownership.sessions, seq: Number.MAX_SAFE_INTEGER });
    const latest = new Date(now.getTime() - GRACE_MS);
    const stale: string[] = [];
    for (const workspace of await everyWorkspace(this.host)) {
      const rows = await tenantDb<AuditDb>(pool, workspace)
        .selectFrom('executions')
        .leftJoin('session_tree', 'session_tree.session_id', 'executions.session_id')
        .select('executions.id')
        .where('status', '=', 'running')
        .where('told_at', '<', latest)
        .where((eb) => eb.or([eb('session_tree.ended_at', '<', latest), eb('session_tree.session_id', 'is', null)]))
        .execute();
      const home = workspace === NO_WORKSPACE ? null : workspace;
      for (const { id } of rows) {
        const command = { type: 'MarkStale' as const, execution_id: id };
        const { events } = await store.execute(execution, home, id, command, ownCommit('audit'));
        if (events.length > 0) stale.push(id);
      }
    }
    if (stale.length > 0) log.warn({ executions: stale }, 'marked executions stale: their sessions are gone');
    return stale;
  }
}
