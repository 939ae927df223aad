import { z } from 'zod';

const note = z.string().nullable();

/** A ticket of any source, as its reporter sees it. */
export const TicketJson = z.object({
  id: z.string(),
  status: z.string().describe('open, triaged, planned, resolved, wont_fix or duplicate; of a backend what it says'),
  severity: note,
  contextTool: note,
  contextApp: note,
  whatIWanted: z.string(),
  userIntent: z.string(),
  suggestedShape: note,
  triageNote: note.describe('What the platform team says of it'),
  resolutionNote: note.describe('How it ended'),
  resolvedPrUrl: z.string().optional().describe('The change that ended it'),
  workspaceSlug: z.string().optional(),
  createdAt: note.describe('ISO 8601'),
  updatedAt: note.describe('ISO 8601'),
  source: z.string().describe('cortex-local, or backend:<id>'),
});
export type TicketJson = z.output<typeof TicketJson>;
