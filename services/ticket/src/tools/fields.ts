import { Id } from '@cortex/contracts';
import { text } from '@cortex/service-kit';
import { z } from 'zod';
import { MAX_LABELS } from '../ticket/ticket.decider.js';
import { STATUS_WORDS, statusOf } from '../ticket/statuses.js';

/** Arguments that several of the tools take. */
export const ticketId = Id.describe('Id or key of the ticket, such as T-7');
export const title = text({ max: 200, blank: false }).describe('What is to be done, 1 to 200 characters');
export const description = text({ max: 65_536 }).describe('The whole story in markdown, at most 65,536 characters');
export const priority = z.number().int().min(0).max(4).describe('0 none, 1 urgent, 2 high, 3 medium, 4 low');
export const labels = z.array(text({ max: 64, blank: false })).max(MAX_LABELS);

/** Any of the words for a status becomes the status. */
export const status = z.string().transform((word, ctx) => {
  const found = statusOf(word);
  if (found !== undefined) return found;
  ctx.addIssue({ code: 'custom', message: `is no status; use ${STATUS_WORDS}`, input: word });
  return z.NEVER;
});
