import type { Bus } from '@cortex/bus';
import { type GuardRule, subjects } from '@cortex/contracts';
import type { Pool } from '@cortex/eventstore/pool';
import { gateRules } from '../projections/gate-rules.projection.js';
import { gateRuns } from '../projections/gate-runs.projection.js';
import { gateSessions } from '../projections/gate-sessions.projection.js';
import { gateSpaces } from '../projections/gate-spaces.projection.js';
import { gateWorkspaces } from '../projections/gate-workspaces.projection.js';
import type { EdgeLog } from '../seams.js';
import { FollowedView } from './followed-view.js';
import { GateMemory } from './gate-memory.js';
import type { GateViews } from './views.js';

/** What the gates read, as the edge's definition names it. */
export const gateProjections = [gateWorkspaces, gateRules, gateSpaces, gateRuns, gateSessions];

/** On which the instance that runs a projection of the edge says that it has applied a batch. */
export const HINT = subjects.live('mcp-edge', 'views');
const LOOK_EVERY_MS = 1_000;
/** While they are behind. */
const LOOK_SOON_MS = 100;
const MAX_LAG_MS = 2_000;
const WAIT_MS = 2_000;

export interface LiveViewsOptions {
  bus: Bus;
  /** Of the service's role. */
  pool: Pool;
  managed: readonly GuardRule[];
  log: EdgeLog;
}

/**
 * The views of the gates in memory: loaded at start, told by hints of the instance that runs a projection, compared with the log and the
 * checkpoints every second. What cannot be shown to be less than two seconds old counts as behind. PostgreSQL may be away: as long as the
 * log shows that nothing has come for a view, what is held is what counts.
 */
export class LiveViews extends GateMemory implements GateViews {
  readonly managed: readonly GuardRule[];
  readonly #views: readonly FollowedView[];
  readonly #options: LiveViewsOptions;
  readonly #waiting = new Set<() => void>();
  /** Of the view that is furthest behind. */
  #asOf = -Infinity;
  #hints: { unsubscribe(): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #comparing = false;
  #problem: string | undefined;
  #stopped = false;

  constructor(options: LiveViewsOptions) {
    super();
    this.#options = options;
    this.managed = options.managed;
    const { pool, bus } = options;
    this.#views = gateProjections.map(
      (projection) => new FollowedView({ projection, memory: this, pool, bus, moved: () => this.#moved() }),
    );
  }

  /** Begins to follow; until everything is loaded nothing is fresh. */
  start(): void {
    this.#hints = this.#options.bus.subscribe(HINT, (message) => this.#hinted(message.string()));
    void this.#look();
  }

  stop(): void {
    this.#stopped = true;
    this.#hints?.unsubscribe();
    clearTimeout(this.#timer);
  }

  /** What the instance that has applied a batch tells the others, and itself. */
  announce(projection: string, seq: number): void {
    this.#options.bus.publish(HINT, JSON.stringify({ projection, seq }));
  }

  fresh(): true | Promise<boolean> {
    return this.#caughtUp || this.#catchUp();
  }

  /** Milliseconds since the moment of which it is known that all views held everything; Infinity before the first load. */
  get ageMs(): number {
    return performance.now() - this.#asOf;
  }

  /** For `/ready`; null while they are fresh. */
  get problem(): string | null {
    if (this.#caughtUp) return null;
    const { behind } = this;
    const names = behind.map(({ name }) => name).join(', ');
    const why = this.#problem ?? behind.find(({ problem }) => problem !== undefined)?.problem;
    return `${names || 'a view'} is behind the log${why === undefined ? '' : ` (${why})`}`;
  }

  /** Views that do not hold what the log does. */
  get behind(): { name: string; problem: string | undefined }[] {
    return this.#views
      .filter(({ asOf }) => performance.now() - asOf > MAX_LAG_MS)
      .map(({ projection, problem }) => ({ name: projection.name, problem }));
  }

  /** Up to which commit of the log a projection's rows are held here; null before the first load. */
  seqOf(projection: string): number | null {
    return this.#views.find((view) => view.projection.name === projection)?.seq ?? null;
  }

  get #caughtUp(): boolean {
    return this.ageMs <= MAX_LAG_MS;
  }

  #catchUp(): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(this.#caughtUp);
      };
      const look = (): void => {
        if (this.#caughtUp) end();
      };
      const timer = setTimeout(end, WAIT_MS);
      this.#waiting.add(look);
    });
  }

  #moved(): void {
    this.#asOf = Math.min(...this.#views.map(({ asOf }) => asOf));
    for (const look of this.#waiting) look();
  }

  async #look(): Promise<void> {
    void this.#compare();
    const results = await Promise.allSettled(this.#views.map((view) => view.look()));
    if (this.#stopped) return;
    this.prune(Date.now());
    this.#tell(results.find((result) => result.status === 'rejected')?.reason);
    this.#timer = setTimeout(() => void this.#look(), this.#caughtUp ? LOOK_EVERY_MS : LOOK_SOON_MS).unref();
  }

  /** For the hint that was lost, and the database that is another one by now; one that hangs is asked once. */
  async #compare(): Promise<void> {
    if (this.#comparing) return;
    this.#comparing = true;
    try {
      const { rows } = await this.#options.pool.query<{ projection: string; seq: string }>(
        'select projection, seq from projection_checkpoint where projection = any($1)',
        [this.#views.map(({ projection }) => projection.name)],
      );
      for (const view of this.#views) {
        const row = rows.find(({ projection }) => projection === view.projection.name);
        view.checkpoint(Number(row?.seq ?? 0));
      }
    } catch {
      // Away: whether that matters, the comparison with the log tells.
    } finally {
      this.#comparing = false;
    }
  }

  /** Each new problem once. */
  #tell(error: unknown): void {
    const problem = error instanceof Error ? error.message : undefined;
    if (problem !== undefined && problem !== this.#problem)
      this.#options.log.warn({ err: error }, 'the views that gates read cannot be compared with the log');
    this.#problem = problem;
  }

  /** Whoever sent it, it only makes a table be read again. */
  #hinted(text: string): void {
    let hint: { projection?: unknown; seq?: unknown } | null;
    try {
      hint = JSON.parse(text) as typeof hint;
    } catch {
      return;
    }
    this.#views.find(({ projection }) => projection.name === hint?.projection)?.checkpoint(Number(hint?.seq));
  }
}
