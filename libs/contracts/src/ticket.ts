/** Where a ticket's work stands. Source: workspace-tools-2, section 6.1. */
export const TICKET_STATUSES = [
  'backlog',
  'open',
  'inProgress',
  'blocked',
  'inReview',
  'done',
  'failed',
  'cancelled',
] as const;
export type TicketStatus = (typeof TICKET_STATUSES)[number];

/** By their number: 0 is none, 1 the most urgent. */
export const TICKET_PRIORITIES = ['none', 'urgent', 'high', 'medium', 'low'] as const;

export const TICKET_PROVIDERS = ['local', 'linear', 'github', 'jira', 'clickup'] as const;
export type TicketProvider = (typeof TICKET_PROVIDERS)[number];

export const TICKET_ORIGINS = ['manual', 'pipelineStep', 'agentDelegation', 'externalSync', 'recovery'] as const;
export type TicketOrigin = (typeof TICKET_ORIGINS)[number];

export const TICKET_ROLES = ['collaborator', 'reviewer', 'assignee'] as const;
export type TicketRole = (typeof TICKET_ROLES)[number];

/** What a change of a ticket's details may hold: the new values of what changed, nothing else. */
export interface TicketChanges {
  title?: string;
  description?: string;
  /** 0 to 4; see `TICKET_PRIORITIES`. */
  priority?: number;
  /** The whole new set. */
  labels?: string[];
}

/** Events of `ticket.ticket`, one aggregate per ticket. Source: workspace-tools-2, section 12. */
export type TicketEvent =
  | {
      type: 'TicketCreated';
      data: {
        ticket_id: string;
        /** What people call it, such as `T-7`; see `TicketKeyReserved`. */
        key: string;
        provider: TicketProvider;
        title: string;
        description: string | null;
        priority: number;
        labels: string[];
        status: TicketStatus;
        assignee_id: string | null;
        team_id: string | null;
        parent_ticket_id: string | null;
        space_id: string | null;
        origin_kind: TicketOrigin;
        delegated_by_agent_id: string | null;
        /** Hops from the ticket at the root, which has 0. */
        delegation_depth: number;
        delegation_root_ticket_id: string | null;
        pipeline_run_id: string | null;
        pipeline_step_id: string | null;
      };
    }
  | { type: 'TicketDetailsUpdated'; data: { ticket_id: string; changes: TicketChanges } }
  /** `forced`: a person moved it past the graph, through the operator's interface. */
  | {
      type: 'TicketStatusChanged';
      data: { ticket_id: string; from: TicketStatus; to: TicketStatus; forced: boolean };
    }
  | { type: 'TicketStarted'; data: Record<string, never> }
  /** `output`: what the work gave, as its tool was handed it. */
  | { type: 'TicketCompleted'; data: { output: Record<string, unknown> | null } }
  | { type: 'TicketFailed'; data: { error_message: string } }
  | { type: 'TicketCancelled'; data: Record<string, never> }
  | {
      type: 'TicketAssigned';
      data: {
        ticket_id: string;
        title: string;
        assignee_id: string | null;
        assignee_type: 'agent' | 'user' | null;
        team_id: string | null;
      };
    }
  /** Again with another role: the role changes. `assignee` on the roster does not change the ticket's assignee. */
  | {
      type: 'TicketCollaboratorAdded';
      data: { principal_id: string; principal_type: 'agent' | 'user'; role: TicketRole };
    }
  | { type: 'TicketPullRequestLinked'; data: { pr_external_id: string } }
  | { type: 'TicketPullRequestUnlinked'; data: { pr_external_id: string } };

/** Events of `ticket.keys`, aggregate id `all`: the numbers of a workspace's local tickets. */
export type TicketKeysEvent = {
  type: 'TicketKeyReserved';
  data: { ticket_id: string; number: number; key: string };
};
