import { Id } from '@cortex/contracts';
import { BILLING_MODES } from '@cortex/contracts/cost';
import { EXECUTION_KINDS } from '@cortex/contracts/execution';
import { firstChars } from '@cortex/contracts/text';
import { text } from '@cortex/service-kit';
import { z } from 'zod';
import { ExecutionId, KEPT_CHARS, Name } from '../commands/fields.js';
import type { Ending, ExecutionCommand } from '../execution/execution.decider.js';
import { EXECUTION_STATUSES } from '../projections/tables.js';

const Time = z.iso.datetime({ offset: true }).transform((time) => new Date(time).toISOString());
const Long = text({ max: 1_000_000 }).nullish();
const Amount = z.number().min(0).max(1_000_000).nullish();

/** A record as an older installation wrote it; fields that are not known are left behind. */
const OldExecution = z.object({
  id: ExecutionId,
  status: z.enum(EXECUTION_STATUSES),
  kind: z.enum(EXECUTION_KINDS).nullish(),
  project: Name.nullish(),
  backend: Name.nullish(),
  billing_mode: z.enum(BILLING_MODES).nullish(),
  session_id: Id.nullish(),
  owner_session_id: Id.nullish(),
  trigger: Name.nullish(),
  label: Long,
  schedule_task_id: Id.nullish(),
  started_at: Time,
  ended_at: Time.nullish(),
  cost_usd: Amount,
  num_turns: z.number().int().min(0).max(1_000_000).nullish(),
  final_output: Long,
  error: Long,
});
type OldExecution = z.output<typeof OldExecution>;

const LABEL_CHARS = 500;
const UNKNOWN = 'unknown';

/** What is recorded of one: its start and end in one commit, made as if it were at its end. */
export interface OldRecord {
  command: Extract<ExecutionCommand, { type: 'FinishExecution' }>;
  at: string;
}

/** A list of records, or an object of them by id; null for anything else. */
export function recordsOf(json: string): { found: OldRecord[]; skipped: number } | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return null;
  }
  if (typeof parsed !== 'object' || parsed === null) return null;
  const records = Object.values(parsed).map((record) => OldExecution.safeParse(record));
  const found = records.filter(({ success }) => success).map(({ data }) => recordOf(data!));
  return { found, skipped: records.length - found.length };
}

function recordOf(old: OldExecution): OldRecord {
  const trigger = old.trigger ?? UNKNOWN;
  const started = {
    execution_id: old.id,
    run_id: null,
    kind: old.kind ?? 'local',
    project: old.project ?? 'general',
    backend: old.backend ?? null,
    billing_mode: old.billing_mode ?? null,
    session_id: old.session_id ?? UNKNOWN,
    owner_session_id: old.owner_session_id ?? null,
    person_id: null,
    trigger,
    label: firstChars(old.label ?? trigger, LABEL_CHARS),
    schedule_task_id: old.schedule_task_id ?? null,
    started_at: old.started_at,
  };
  const at = old.ended_at ?? old.started_at;
  return { command: { type: 'FinishExecution', started, ending: endingOf(old, at) }, at };
}

function endingOf(old: OldExecution, at: string): Ending {
  const { id: execution_id, status, cost_usd = null, num_turns = null } = old;
  const figures = {
    execution_id,
    cost_usd,
    num_turns,
    duration_s: Math.max(0, Date.parse(at) - Date.parse(old.started_at)) / 1000,
    final_output: typeof old.final_output === 'string' ? firstChars(old.final_output, KEPT_CHARS) : null,
  };
  switch (status) {
    case 'completed':
      return { outcome: 'completed', data: figures };
    case 'failed':
      return { outcome: 'failed', data: { ...figures, error: firstChars(old.error || UNKNOWN, KEPT_CHARS) } };
    case 'cancelled':
      return { outcome: 'cancelled', data: { execution_id, by: UNKNOWN } };
    // Whatever ran there then runs no more.
    case 'running':
    case 'stale':
      return { outcome: 'stale', data: { execution_id } };
  }
}
