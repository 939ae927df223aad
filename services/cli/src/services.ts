import { SERVICES, type ServiceName } from '@cortex/contracts/services';
import type { Runnable } from '@cortex/service-kit';

/** Each service is loaded only by a process that holds it. */
const LOAD: Readonly<Record<ServiceName, () => Promise<Runnable>>> = {
  'mcp-edge': async () => {
    const { McpEdgeModule, mcpEdgeService, http } = await import('@cortex/mcp-edge');
    return { module: McpEdgeModule, def: mcpEdgeService, http };
  },
  session: async () => {
    const { SessionModule, sessionService } = await import('@cortex/session');
    return { module: SessionModule, def: sessionService };
  },
  'remote-ops': async () => {
    const { RemoteOpsModule, remoteOpsService } = await import('@cortex/remote-ops');
    return { module: RemoteOpsModule, def: remoteOpsService };
  },
  waitpoint: async () => {
    const { WaitpointModule, waitpointService } = await import('@cortex/waitpoint');
    return { module: WaitpointModule, def: waitpointService };
  },
  team: async () => {
    const { TeamModule, teamService } = await import('@cortex/team');
    return { module: TeamModule, def: teamService };
  },
  review: async () => {
    const { ReviewModule, reviewService } = await import('@cortex/review');
    return { module: ReviewModule, def: reviewService };
  },
  memory: async () => {
    const { MemoryModule, memoryService } = await import('@cortex/memory');
    return { module: MemoryModule, def: memoryService };
  },
  ticket: async () => {
    const { TicketModule, ticketService } = await import('@cortex/ticket');
    return { module: TicketModule, def: ticketService };
  },
  billing: async () => {
    const { BillingModule, billingService } = await import('@cortex/billing');
    return { module: BillingModule, def: billingService };
  },
  audit: async () => {
    const { AuditModule, auditService } = await import('@cortex/audit');
    return { module: AuditModule, def: auditService };
  },
};

/** What is needed to run these services, in their order. */
export const loadServices = (names: readonly ServiceName[] = SERVICES): Promise<Runnable[]> =>
  Promise.all(names.map((name) => LOAD[name]()));
