import { conflict, isCortexError } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { keyOf, keys, KEYS_ID } from './keys.decider.js';

/**
 * The key of a ticket that is about to be made: the one that it has, when the same call comes again, else the next one.
 * Errors: `conflict` revision_conflict (key) when too many others made tickets at the same moment; nothing is lost by a repeat.
 */
export async function reserveKey(ctx: ToolContext, ticket_id: string): Promise<string> {
  try {
    // Those of its first try, when the same call comes again soon: then too it may be behind more others than are remembered.
    const { events } = await ctx.execute(keys, KEYS_ID, { type: 'ReserveKey', ticket_id });
    const [given] = events;
    if (given !== undefined) return given.data.key;
  } catch (error) {
    if (isCortexError(error) && error.reason === 'revision_conflict') throw outrun();
    throw error;
  }
  const key = keyOf((await ctx.load(keys, KEYS_ID)).state, ticket_id);
  if (key === undefined) throw outrun();
  return key;
}

const outrun = () =>
  conflict('key', 'was given to others who make tickets at this moment', 'call again', { reason: 'revision_conflict' });
