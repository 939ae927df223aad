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

const HINT = subjects.live('mcp-edge', 'views');
const LOOK_EVERY_MS = 1_000;
/** While calls wait for it, or nothing was ever loaded. */
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
 * checkpoints every second. What cannot be shown to be less than two seconds old counts as behind.
 */
export class LiveViews extends GateMemory implements GateViews {
  readonly managed: readonly GuardRule[];
  readonly #views: readonly FollowedView[];
  readonly #options: LiveViewsOptions;
  readonly #waiting = new Set<() => void>();
  #hints: { unsubscribe(): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #stopped = false;

  constructor(options: LiveViewsOptions) {
    super();
    this.#options = options;
    this.managed = options.managed;
    this.#views = gateProjections.map(
      (projection) => new FollowedView(projection, this, options.pool, options.bus, () => this.#moved()),
    );
  }

  /** Begins to follow; until everything is loaded nothing is fresh. */
  start(): void {
    const { bus } = this.#options;
    this.#hints = bus.subscribe(HINT, (message) => this.#hinted(message.string()));
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

  get caughtUp(): boolean {
    const oldest = performance.now() - MAX_LAG_MS;
    return this.#views.every((view) => view.asOf >= oldest);
  }

  fresh(): true | Promise<boolean> {
    return this.caughtUp || this.#catchUp();
  }

  /** Up to which commit of the log a projection's rows are held here; null before the first load. */
  seqOf(projection: string): number | null {
    return this.#views.find((view) => view.projection.name === projection)?.seq ?? null;
  }

  /** For `/ready`; null while they are fresh. */
  get problem(): string | null {
    if (this.caughtUp) return null;
    const behind = this.#views.filter((view) => performance.now() - view.asOf > MAX_LAG_MS);
    const names = behind.map(({ projection }) => projection.name).join(', ');
    return `${names} is behind the log${this.#problem === undefined ? '' : ` (${this.#problem})`}`;
  }

  #catchUp(): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(this.caughtUp);
      };
      const look = (): void => {
        if (this.caughtUp) end();
      };
      const timer = setTimeout(end, WAIT_MS);
      this.#waiting.add(look);
    });
  }

  #moved(): void {
    for (const look of this.#waiting) look();
  }

  async #look(): Promise<void> {
    const results = await Promise.allSettled(this.#views.map((view) => view.look()));
    if (this.#stopped) return;
    this.prune(Date.now());
    this.#tell(results.find((result) => result.status === 'rejected')?.reason);
    this.#timer = setTimeout(() => void this.#look(), this.caughtUp ? LOOK_EVERY_MS : LOOK_SOON_MS);
  }

  /** Each new problem once. */
  #tell(error: unknown): void {
    const problem = error instanceof Error ? error.message : undefined;
    if (problem !== undefined && problem !== this.#problem)
      this.#options.log.warn({ err: error }, 'the views that gates read cannot be compared with the log');
    this.#problem = problem;
  }

  /** Whoever sent it, it only makes the table be read again. */
  #hinted(text: string): void {
    let hint: { projection?: unknown; seq?: unknown } | null;
    try {
      hint = JSON.parse(text) as typeof hint;
    } catch {
      return;
    }
    const seq = Number(hint?.seq);
    this.#views.find(({ projection }) => projection.name === hint?.projection)?.hinted(seq);
  }
}
