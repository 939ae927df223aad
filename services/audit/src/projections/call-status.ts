import { sql } from 'kysely';

export type CallStatus = 'running' | 'interrupted' | 'succeeded' | 'failed' | 'denied' | 'cancelled' | 'timed_out';

/**
 * What became of a call, as of now. That a call was interrupted is never written: nobody records the end of what was
 * killed, and a view that looked at the clock would come out different when it is rebuilt.
 */
export const callStatus = sql<CallStatus>`
  case
    when tool_calls.outcome is not null then tool_calls.outcome
    when tool_calls.created_at + coalesce(tool_calls.deadline_ms, 0) * interval '1 millisecond' < now() then 'interrupted'
    else 'running'
  end`;
