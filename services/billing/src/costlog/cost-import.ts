import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Id, sha256Hex } from '@cortex/contracts';
import type { CostEvent } from '@cortex/contracts/cost';
import { CONFIG, HOST, type ServiceHost } from '@cortex/service-kit';
import { PeriodicTask } from '@cortex/service-kit/periodic-task';
import { ownCommit } from '@cortex/service-kit/own-commit';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import { Name, spendingFields, Tokens } from '../commands/fields.js';
import type { Config } from '../config.js';
import { cost, costId } from '../cost/cost.decider.js';
import { roundUsd } from '../money.js';
import { costlog } from './costlog.decider.js';

const AGAIN_MS = 5_000;
/** Lines that are recorded at once. */
const AT_ONCE = 32;

const count = Tokens.nullish().transform((tokens) => tokens ?? 0);
/** A record as an older installation wrote it; fields that are not known are left behind. */
const Line = z.object({
  ...spendingFields,
  timestamp: z.iso.datetime({ offset: true }).transform((time) => new Date(time).toISOString()),
  project: Name.nullish(),
  trigger: Name.nullish(),
  backend: Name.nullish(),
  model: Name.nullish(),
  input_tokens: count,
  output_tokens: count,
  session_id: Id.nullish(),
  owner_session_id: Id.nullish(),
  execution_id: Id.nullish(),
});

/**
 * Takes `$CORTEX_HOME/data/costs.jsonl` of an older installation over, once: one record per line, in no workspace, so that
 * operators see them. Every line has an id of its own, so what was cut off goes on at the next start without counting twice.
 */
@Injectable()
export class CostImport implements OnApplicationShutdown {
  readonly #file: string;
  readonly #task: PeriodicTask;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(HOST) private readonly host: ServiceHost,
  ) {
    this.#file = join(config.CORTEX_HOME, 'data', 'costs.jsonl');
    const work = (signal: AbortSignal) => this.#import(signal);
    this.#task = new PeriodicTask(host, { name: 'take costs.jsonl over', everyMs: AGAIN_MS, work });
  }

  onApplicationShutdown(): Promise<void> {
    return this.#task.stop();
  }

  async #import(signal: AbortSignal): Promise<'done'> {
    const { store, log } = this.host;
    if (!existsSync(this.#file)) return 'done';
    const { state } = await store.load(costlog, null, 'all');
    if (state.imported) return 'done';
    const seen = new Map<string, number>();
    const found = { count: 0, skipped: 0 };
    let pending: Promise<unknown>[] = [];
    let number = 0;
    for await (const line of createInterface({ input: createReadStream(this.#file), crlfDelay: Infinity })) {
      signal.throwIfAborted();
      number++;
      if (line.trim() === '') continue;
      const entry = entryOf(line);
      if (entry === null) {
        found.skipped++;
        log.warn({ file: this.#file, line: number }, 'a line of costs.jsonl is no cost record');
        continue;
      }
      found.count++;
      // Two lines that say the same are two records.
      const hash = sha256Hex(line);
      const nth = (seen.get(hash) ?? 0) + 1;
      seen.set(hash, nth);
      const id = costId('costs.jsonl', `${hash} ${nth}`);
      const command = { type: 'RecordCost' as const, entry: { ...entry, entry_id: `cost_${id}` } };
      pending.push(store.execute(cost, null, id, command, ownCommit('billing')));
      if (pending.length >= AT_ONCE) {
        await Promise.all(pending);
        pending = [];
      }
    }
    await Promise.all(pending);
    await store.execute(costlog, null, 'all', { type: 'NoteImport', ...found }, ownCommit('billing'));
    log.info({ file: this.#file, ...found }, 'costs.jsonl taken over');
    return 'done';
  }
}

function entryOf(line: string): Omit<CostEvent['data'], 'entry_id'> | null {
  const parsed = Line.safeParse(jsonOf(line));
  if (!parsed.success) return null;
  const { project, mode, source, cost_usd, ...record } = parsed.data;
  return {
    timestamp: record.timestamp,
    project: project ?? 'general',
    trigger: record.trigger ?? null,
    cost_usd: cost_usd === null || cost_usd === undefined ? null : roundUsd(cost_usd),
    num_turns: record.num_turns ?? null,
    duration_s: record.duration_s ?? null,
    backend: record.backend ?? null,
    mode: mode ?? 'api',
    source: source ?? 'estimate',
    input_tokens: record.input_tokens,
    output_tokens: record.output_tokens,
    cache_read_tokens: record.cache_read_tokens,
    cache_creation_tokens: record.cache_creation_tokens,
    provider: record.provider ?? null,
    model: record.model ?? null,
    session_id: record.session_id ?? null,
    owner_session_id: record.owner_session_id ?? null,
    execution_id: record.execution_id ?? null,
  };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
