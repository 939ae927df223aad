import { GAP_SEVERITIES } from '@cortex/contracts/gap';
import { text } from '@cortex/service-kit';
import { z } from 'zod';

const MOST = 4_000;
const Name = text({ max: 128, blank: false });

/** What commands about a report bring; checked at the edge already, and here for senders of another release. */
export const reportFields = {
  whatIWanted: text({ max: MOST, blank: false }),
  userIntent: text({ max: MOST, blank: false }),
  severity: z.enum(GAP_SEVERITIES),
  contextTool: Name.nullable(),
  contextApp: Name.nullable(),
  suggestedShape: text({ max: MOST }).nullable(),
};

/** Id of a ticket that is kept here; those of backends have their own. */
export const TicketId = z.string().regex(/^gap_[0-9a-f-]{36}$/, 'is no id of a ticket; see the list');
