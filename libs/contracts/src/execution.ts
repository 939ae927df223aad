export const EXECUTION_KINDS = ['local', 'scheduled', 'callback', 'subagent', 'worker'] as const;
export type ExecutionKind = (typeof EXECUTION_KINDS)[number];

/** Events of `audit.execution`, aggregate id = the execution's id. Source: agent-server, section 23. */
export type ExecutionEvent =
  | {
      type: 'ExecutionStarted';
      data: {
        execution_id: string;
        run_id: string | null;
        kind: ExecutionKind;
        project: string;
        backend: string | null;
        billing_mode: 'api' | 'plan' | null;
        session_id: string;
        owner_session_id: string | null;
        person_id: string | null;
        trigger: string;
        label: string;
        schedule_task_id: string | null;
        /** When it began, ISO 8601; it is told of a little later. */
        started_at: string;
      };
    }
  | {
      type: 'ExecutionCompleted';
      data: {
        execution_id: string;
        cost_usd: number | null;
        num_turns: number | null;
        duration_s: number;
        /** At most 2,000 characters. */
        final_output: string | null;
      };
    }
  | {
      type: 'ExecutionFailed';
      data: {
        execution_id: string;
        cost_usd: number | null;
        num_turns: number | null;
        duration_s: number;
        final_output: string | null;
        error: string;
      };
    }
  | { type: 'ExecutionCancelled'; data: { execution_id: string; by: string } }
  | { type: 'ExecutionMarkedStale'; data: { execution_id: string } };

/** Events of `audit.import`, aggregate id `executions`, in no workspace: those of an older installation were taken over. */
export type ExecutionImportEvent = { type: 'ExecutionsImported'; data: { count: number; skipped: number } };
