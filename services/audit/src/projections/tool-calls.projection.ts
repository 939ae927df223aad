import { NO_WORKSPACE, type CallFinished, type CallStarted } from '@cortex/contracts';
import { defineProjection, type Of } from '@cortex/eventstore';
import type { Insertable } from 'kysely';
import {
  asFlag,
  asNumber,
  asText,
  asTexts,
  asTime,
  columnsOf,
  TOOL_CALL_COUNTS,
  TOOL_CALL_TEXTS,
} from './record-fields.js';
import type { AuditDb } from './tables.js';

export type ToolCallEvent =
  { type: 'ToolCallStarted'; data: CallStarted } | { type: 'ToolCallFinished'; data: CallFinished };

/** The row that one record gives, or null for a record without identity or time. */
function rowOf({
  data,
  workspace,
}: Of<ToolCallEvent, ToolCallEvent['type']>): Insertable<AuditDb['tool_calls']> | null {
  const id = asText(data.call_id);
  const created_at = asTime(data.at);
  if (id === null || created_at === null) return null;
  const end = data.type === 'ToolCallFinished' ? data : undefined;
  return {
    id,
    workspace_id: asText(workspace) ?? NO_WORKSPACE,
    created_at,
    ...columnsOf(data, TOOL_CALL_TEXTS, TOOL_CALL_COUNTS),
    finished_at: end ? (asTime(end.finished_at) ?? created_at) : null,
    duration_ms: asNumber(end?.duration_ms),
    cost_usd: asNumber(end?.cost_usd),
    dev_bypass: asFlag(end?.dev_bypass),
    classes: asTexts(end?.classes),
  };
}

/**
 * Every tool call, refused ones too. The end repeats what the start said, so either may be missing; whichever end came
 * first counts, and a record that is delivered again changes nothing.
 */
export const toolCalls = defineProjection<ToolCallEvent, AuditDb>({
  name: 'tool_calls_v1',
  subject: 'cortex.call.>',
  tables: ['tool_calls'],
  on: {
    async ToolCallStarted(event, tx) {
      const row = rowOf(event);
      if (row === null) return;
      await tx
        .insertInto('tool_calls')
        .values(row)
        .onConflict((oc) => oc.column('id').doNothing())
        .execute();
    },
    async ToolCallFinished(event, tx) {
      const row = rowOf(event);
      if (row === null) return;
      await tx
        .insertInto('tool_calls')
        .values(row)
        .onConflict((oc) => oc.column('id').doUpdateSet(row).where('tool_calls.finished_at', 'is', null))
        .execute();
    },
  },
});
