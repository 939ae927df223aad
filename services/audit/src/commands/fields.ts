import { Id } from '@cortex/contracts';
import { BILLING_MODES } from '@cortex/contracts/cost';
import { EXECUTION_KINDS } from '@cortex/contracts/execution';
import { text } from '@cortex/service-kit';
import { z } from 'zod';

export const ExecutionId = Id.regex(/^exec_/, 'must begin with exec_; send the id of the execution');
export const Name = text({ max: 200, blank: false });
/** Of an output or an error. */
export const KEPT_CHARS = 2_000;
/** Longer than any label is useful. */
const LABEL = 500;

/** What `ExecutionStarted` holds. */
export const startFields = {
  run_id: Id.nullish(),
  kind: z.enum(EXECUTION_KINDS).optional(),
  project: Name.optional(),
  backend: Name.nullish(),
  billing_mode: z.enum(BILLING_MODES).nullish(),
  session_id: Id,
  owner_session_id: Id.nullish(),
  person_id: Id.nullish(),
  trigger: Name.optional(),
  label: text({ max: LABEL }).optional(),
  schedule_task_id: Id.nullish(),
  started_at: z.iso.datetime().optional(),
};
export const StartFields = z.object({ execution_id: ExecutionId, ...startFields });
export type StartFields = z.output<typeof StartFields>;
