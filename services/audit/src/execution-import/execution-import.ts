import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CONFIG, HOST, type ServiceHost } from '@cortex/service-kit';
import { PeriodicTask } from '@cortex/service-kit/periodic-task';
import { ownCommit } from '@cortex/service-kit/own-commit';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Config } from '../config.js';
import { execution } from '../execution/execution.decider.js';
import { executionImport } from './import.decider.js';
import { recordsOf } from './old-execution.js';

const AGAIN_MS = 5_000;
/** Executions that are recorded at once. */
const AT_ONCE = 32;

/**
 * Takes `$CORTEX_HOME/data/executions.json` of an older installation over, once, in no workspace, so that operators see
 * them. Each keeps its id and its times, so what was cut off goes on at the next start without a second of any.
 */
@Injectable()
export class ExecutionImport implements OnApplicationShutdown {
  readonly #file: string;
  readonly #task: PeriodicTask;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(HOST) private readonly host: ServiceHost,
  ) {
    this.#file = join(config.CORTEX_HOME, 'data', 'executions.json');
    const work = (signal: AbortSignal) => this.#import(signal);
    this.#task = new PeriodicTask(host, { name: 'take executions.json over', everyMs: AGAIN_MS, work });
  }

  onApplicationShutdown(): Promise<void> {
    return this.#task.stop();
  }

  async #import(signal: AbortSignal): Promise<'done'> {
    const { store, log } = this.host;
    if (!existsSync(this.#file)) return 'done';
    const { state } = await store.load(executionImport, null, 'executions');
    if (state.imported) return 'done';
    const records = recordsOf(await readFile(this.#file, 'utf8'));
    if (records === null) {
      log.error({ file: this.#file }, 'executions.json is no list of executions; nothing is taken over');
      return 'done';
    }
    const { found, skipped } = records;
    for (let from = 0; from < found.length; from += AT_ONCE) {
      signal.throwIfAborted();
      const some = found.slice(from, from + AT_ONCE);
      await Promise.all(
        some.map(({ command, at }) =>
          store.execute(execution, null, command.started.execution_id, command, { ...ownCommit('audit'), at }),
        ),
      );
    }
    const note = { type: 'NoteImport' as const, count: found.length, skipped };
    await store.execute(executionImport, null, 'executions', note, ownCommit('audit'));
    log.info({ file: this.#file, count: found.length, skipped }, 'executions.json taken over');
    return 'done';
  }
}
