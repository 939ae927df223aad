import { join } from 'node:path';
import { sha256Hex } from '@cortex/contracts';
import { CONFIG, HOST, type ServiceHost } from '@cortex/service-kit';
import { PeriodicTask } from '@cortex/service-kit/periodic-task';
import { ownCommit } from '@cortex/service-kit/own-commit';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import { parseConfig, readText } from '../adapters/config-file.js';
import { LimitUsd, Name } from '../commands/fields.js';
import type { Config } from '../config.js';
import { budget, DEFAULT_BUDGET } from './budget.decider.js';

const LOOK_MS = 1_000;

/** `budget.json`. What is left out of it is as if it were never set. */
const BudgetFileContent = z.strictObject({
  daily_usd: LimitUsd.default(DEFAULT_BUDGET.daily_usd),
  monthly_usd: LimitUsd.default(DEFAULT_BUDGET.monthly_usd),
  projects: z.record(Name, z.strictObject({ daily_usd: LimitUsd, monthly_usd: LimitUsd })).default({}),
});

/**
 * Takes `$CORTEX_HOME/config/budget.json` over whenever it says something new, at start and while the service runs: its
 * budgets are then the ones in force, and what a command sets later holds until the file changes again. A broken file
 * changes nothing and is told once.
 */
@Injectable()
export class BudgetFile implements OnApplicationShutdown {
  readonly #file: string;
  readonly #task: PeriodicTask;
  /** The text that was dealt with. */
  #text: string | null = null;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(HOST) private readonly host: ServiceHost,
  ) {
    this.#file = join(config.CORTEX_HOME, 'config', 'budget.json');
    this.#task = new PeriodicTask(host, { name: 'take budget.json over', everyMs: LOOK_MS, work: () => this.#take() });
  }

  onApplicationShutdown(): Promise<void> {
    return this.#task.stop();
  }

  async #take(): Promise<void> {
    const text = readText(this.#file);
    if (text === null || text === this.#text) return;
    const parsed = parseConfig(text, BudgetFileContent);
    if ('problem' in parsed) {
      const { problem } = parsed;
      this.#text = text;
      this.host.log.error({ file: this.#file, problem }, `budget.json is broken: ${problem}; the budgets stay`);
      return;
    }
    const sha256 = sha256Hex(text);
    const command = { type: 'ReadBudgetFile' as const, sha256, budgets: parsed.value, by: 'budget.json' };
    const { events } = await this.host.store.execute(budget, null, 'all', command, ownCommit('billing'));
    this.#text = text;
    if (events.length > 0) this.host.log.info({ file: this.#file }, 'budget.json taken over');
  }
}
