import type { Principal } from '@cortex/contracts';
import {
  defineCommand,
  defineQuery,
  defineService,
  type ServiceDefinition,
  type ToolContext,
} from '@cortex/service-kit';
import { z } from 'zod';

export interface AskedOfDesk {
  name: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- what was sent is looked at field by field
  args: any;
  caller: Principal;
  person: string | undefined;
}

export interface TicketDesk {
  readonly service: ServiceDefinition;
  /** Everything that it was asked, oldest first. */
  readonly asked: AskedOfDesk[];
  /** By name of command or query; may throw. */
  readonly answers: Record<string, (asked: AskedOfDesk) => unknown>;
}

const REPORT = ['whatIWanted', 'userIntent', 'severity', 'contextTool', 'contextApp', 'suggestedShape'];
const FILTERS = ['status', 'severity', 'contextApp', 'limit', 'cursor'];

/** Stands for the service `ticket` on the bus, for what the edge asks of it. */
export function ticketDesk(): TicketDesk {
  const asked: AskedOfDesk[] = [];
  const answers: TicketDesk['answers'] = {};
  const of = (name: string, fields: readonly string[]) => ({
    name,
    input: z.object(Object.fromEntries(fields.map((field) => [field, z.unknown().optional()]))),
    handle(args: object, ctx: ToolContext): unknown {
      const request = { name, args, caller: ctx.caller, person: ctx.scope.user_id };
      asked.push(request);
      return answers[name]?.(request) ?? {};
    },
  });
  const service = defineService({
    name: 'ticket',
    config: z.object({}),
    tools: [],
    commands: [
      defineCommand(of('report_gap', [...REPORT, 'caller'])),
      defineCommand(of('note_backend_gap', [...REPORT, 'backend', 'backend_ticket_id'])),
      defineCommand(
        of('triage_gap', ['ticketId', 'status', 'triageNote', 'resolutionNote', 'resolvedPrUrl', 'duplicateOf']),
      ),
    ],
    queries: [defineQuery(of('list_gaps', ['mine', 'ticketId', ...FILTERS]))],
  });
  return { service, asked, answers };
}
