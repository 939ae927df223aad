import { NO_WORKSPACE } from '@cortex/contracts';
import { tenantDb } from '@cortex/eventstore';
import { CONFIG, HOST, type ServiceHost } from '@cortex/service-kit';
import { PeriodicTask } from '@cortex/service-kit/periodic-task';
import { Inject, Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { commit, newNonce } from '../commit.js';
import type { Config } from '../config.js';
import type { WaitpointDb } from '../projections/tables.js';
import { COALESCE_MS, KEPT_MS, type WaitpointCommand } from '../waitpoint/waitpoint.decider.js';
import { DeviceSpools } from './device-spools.js';
import { LocalSpool } from './local-spool.js';
import { Rejections } from './rejections.js';
import { Wakes } from './wakes.js';

const SELF = { kind: 'system', id: 'waitpoint' } as const;
const PAGE = 500;
const AT_ONCE = 16;
/** With the sweep turned off a first one that failed is tried again so often. */
const RESTART_MS = 30_000;
/** One instance sweeps for all. */
const LOCK = `select pg_try_advisory_lock(hashtextextended('cortex.waitpoint.sweep', 0)) as locked`;
const UNLOCK = `select pg_advisory_unlock(hashtextextended('cortex.waitpoint.sweep', 0))`;
/** No wake is put off for so long: one that is was written by a clock that has been set back since. */
const NEVER_AHEAD = sql`interval '61 minutes'`;

interface Row {
  waitpoint_id: string;
  workspace: string;
  at: Date;
}
interface Due {
  id: string;
  workspace_id: string | null;
  at: Date;
}
type Column = 'expires_at' | 'wake_at' | 'resolved_at';

export interface Swept {
  spooled: number;
  expired: number;
  woken: number;
  purged: number;
}

/**
 * What time brings about: signals that lie in spools, expiry, wakes that did not get through, and the end of what is long
 * resolved; in this order, so that a signal that came in time wins over the deadline. Source: agent-server, section 19.5.
 */
@Injectable()
export class Sweeper {
  readonly #stop = new AbortController();
  readonly #task: PeriodicTask;
  #running: Promise<Swept> | undefined;

  constructor(
    @Inject(HOST) private readonly host: ServiceHost,
    @Inject(CONFIG) config: Config,
    private readonly localSpool: LocalSpool,
    private readonly deviceSpools: DeviceSpools,
    private readonly rejections: Rejections,
    private readonly wakes: Wakes,
  ) {
    const everyMs = config.CORTEX_WAITPOINT_SWEEP_MS;
    const work = async () => {
      await this.sweep();
      return everyMs === 0 ? ('done' as const) : undefined;
    };
    this.#task = new PeriodicTask(host, { name: 'sweep up waitpoints', everyMs: everyMs || RESTART_MS, work });
  }

  /** Before bus and database go away. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#task.stop();
  }

  /** One sweep; who asks during one gets that one. Errors: `unavailable`. */
  sweep(): Promise<Swept> {
    this.#running ??= this.#sweep().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #sweep(): Promise<Swept> {
    const started = performance.now();
    // Each instance has a folder of its own, or shares one: a file that two of them read is recorded once.
    const local = await this.localSpool.takeIn(this.#stop.signal).catch((error: unknown) => {
      this.host.log.warn({ err: error }, 'the signal spool was not read');
      return 0;
    });
    const rest = (await this.#alone()) ?? { spooled: 0, expired: 0, woken: 0, purged: 0 };
    const swept = { ...rest, spooled: rest.spooled + local };
    const ms = Math.round(performance.now() - started);
    const did = Object.values(swept).some((count) => count > 0);
    this.host.log[did ? 'info' : 'debug']({ ...swept, ms }, 'swept');
    return swept;
  }

  /** What one instance does for all; undefined while another one does. The lock ends with its connection at the latest. */
  async #alone(): Promise<Swept | undefined> {
    const client = await this.host.pool.connect();
    let broken: Error | undefined;
    const onError = (error: Error) => (broken = error);
    client.on('error', onError);
    try {
      const { rows } = await client.query<{ locked: boolean }>(LOCK);
      if (rows[0]?.locked !== true) return undefined;
      try {
        return {
          spooled: await this.deviceSpools.takeIn(this.#stop.signal),
          expired: await this.#expire(),
          woken: await this.#wake(),
          purged: await this.#purge(),
        };
      } finally {
        await client.query(UNLOCK).catch((error: unknown) => (broken = error as Error));
      }
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }

  #expire(): Promise<number> {
    return this.#each('expires_at', sql`state = 'armed' and expires_at <= now()`, ({ workspace_id, id }) =>
      this.#commit(workspace_id, id, { type: 'ExpireWaitpoint', at: new Date().toISOString(), nonce: newNonce() }),
    );
  }

  async #wake(): Promise<number> {
    let away = false;
    let first: Promise<unknown> | undefined;
    const due = sql`(wake_at <= now() + ${COALESCE_MS / 1_000} * interval '1 second' or wake_at > now() + ${NEVER_AHEAD})`;
    return this.#each('wake_at', due, async ({ workspace_id, id, at }) => {
      // While the session service is away one wake finds it out for all of them.
      await first;
      if (away) return false;
      const soon = at.getTime() - Date.now();
      if (soon > 0 && soon <= COALESCE_MS) {
        this.wakes.later(workspace_id, id, soon);
        return false;
      }
      const woken = this.wakes.now(workspace_id, id);
      const told = woken.then((how) => {
        if (how === 'away') away = true;
        return how === 'done';
      });
      first ??= told;
      return told;
    });
  }

  async #purge(): Promise<number> {
    const kept = sql`resolved_at <= now() - ${KEPT_MS / 1_000} * interval '1 second'`;
    const over = sql`state <> 'armed' and wake_at is null and ${kept}`;
    const purged = await this.#each('resolved_at', over, ({ workspace_id, id }) =>
      this.#commit(workspace_id, id, { type: 'PurgeWaitpoint', at: new Date().toISOString() }),
    );
    await this.rejections.trim();
    return purged;
  }

  async #commit(workspace: string | null, id: string, command: WaitpointCommand): Promise<boolean> {
    const { events } = await commit(this.host.store, { workspace, id, actor: SELF }, command);
    return events.length > 0;
  }

  /** Does something for all that is due, the longest due first; how often it did. One that fails stays due. */
  async #each(column: Column, due: RawBuilder<unknown>, what: (due: Due) => Promise<boolean>): Promise<number> {
    let done = 0;
    let after: Row | undefined;
    do {
      const rows: Row[] = await this.#page(column, due, after);
      after = rows.length < PAGE ? undefined : rows.at(-1);
      const work = async () => {
        for (let row = rows.shift(); row !== undefined && !this.#stop.signal.aborted; row = rows.shift()) {
          if (await this.#try(row, what)) done++;
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    } while (after !== undefined && !this.#stop.signal.aborted);
    return done;
  }

  async #try({ waitpoint_id: id, workspace, at }: Row, what: (due: Due) => Promise<boolean>): Promise<boolean> {
    try {
      return await what({ id, workspace_id: workspace === NO_WORKSPACE ? null : workspace, at });
    } catch (error) {
      this.host.log.warn({ err: error, waitpoint_id: id }, 'a waitpoint is left to the next sweep');
      return false;
    }
  }

  async #page(column: Column, due: RawBuilder<unknown>, after: Row | undefined): Promise<Row[]> {
    const beyond = after && sql` and (${sql.ref(column)}, waitpoint_id) > (${after.at}, ${after.waitpoint_id})`;
    const { rows } = await sql<Row>`
      select waitpoint_id, workspace, ${sql.ref(column)} as at from agenda
      where ${due}${beyond ?? sql``} order by ${sql.ref(column)}, waitpoint_id limit ${PAGE}`.execute(
      tenantDb<WaitpointDb>(this.host.pool, NO_WORKSPACE),
    );
    return rows;
  }
}
