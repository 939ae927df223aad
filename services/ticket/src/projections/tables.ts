import { defineMigrations } from '@cortex/eventstore';
import type { GapSeverity, GapStatus } from '@cortex/contracts/gap';
import type { TicketOrigin, TicketProvider, TicketRole, TicketStatus } from '@cortex/contracts/ticket';
import { sql, type Generated, type JSONColumnType } from 'kysely';

/** Times are ISO 8601 with milliseconds, so that their texts sort as they do. */
export interface TicketRow {
  workspace_id: string;
  ticket_id: string;
  provider: TicketProvider;
  external_key: string | null;
  key: string;
  url: string | null;
  title: string;
  description: string | null;
  /** 0 to 4. */
  priority: number;
  labels: string[];
  status: TicketStatus;
  /** Of the outside tracker. */
  raw_status: string | null;
  parent_ticket_id: string | null;
  project_id: string | null;
  assignee_id: string | null;
  assignee_type: 'agent' | 'user' | null;
  team_id: string | null;
  created_by_type: string;
  created_by_id: string;
  delegated_by_agent_id: string | null;
  delegation_depth: number;
  delegation_root_ticket_id: string | null;
  space_id: string | null;
  error_message: string | null;
  output: JSONColumnType<Record<string, unknown> | null, string | null, string | null>;
  linked_pr_ids: Generated<string[]>;
  origin_kind: TicketOrigin;
  pipeline_run_id: string | null;
  pipeline_step_id: string | null;
  created_at: string;
  started_at: string | null;
  blocked_at: string | null;
  completed_at: string | null;
  cancelled_at: string | null;
  finished_at: string | null;
  updated_at: string;
  /** Up by one per commit. */
  version: Generated<number>;
}

export interface TicketDb {
  tickets: TicketRow;
  ticket_collaborators: {
    workspace_id: string;
    ticket_id: string;
    principal_id: string;
    principal_type: 'agent' | 'user';
    role: TicketRole;
    added_at: string;
  };
  /**
   * Which workspaces have a ticket of this id, for telling a foreign id from an unknown one. It has no `workspace_id`, since
   * it is read across workspaces, and so nothing of a ticket may stand in it.
   */
  ticket_ids: { ticket_id: string; workspace: string };
}

export interface AgentDb {
  /** Likewise, of the agents that team has registered. */
  agent_ids: { agent_id: string; workspace: string };
}

/**
 * A ticket about a missing capability. It belongs to no workspace, so the rows have no `workspace_id`: whoever reads them names the
 * reporter, or is an operator. Times as above.
 */
export interface GapRow {
  id: string;
  status: GapStatus;
  severity: GapSeverity;
  what_i_wanted: string;
  user_intent: string;
  context_tool: string | null;
  context_app: string | null;
  suggested_shape: string | null;
  triage_note: string | null;
  resolution_note: string | null;
  resolved_pr_url: string | null;
  duplicate_of: string | null;
  /** `per_…` of a person, or the id of an agent that is nobody's. */
  reporter: string;
  created_at: string;
  updated_at: string;
  resolved_at: string | null;
}

export interface GapDb {
  missing_capabilities: GapRow;
}

export const migrations = defineMigrations({
  '0001_tickets': {
    async up(db) {
      await sql`
        create table tickets (
          workspace_id text not null, ticket_id text not null,
          provider text not null, external_key text, key text not null, url text,
          title text not null, description text, priority int not null, labels text[] not null,
          status text not null, raw_status text,
          parent_ticket_id text, project_id text, assignee_id text, assignee_type text, team_id text,
          created_by_type text not null, created_by_id text not null,
          delegated_by_agent_id text, delegation_depth int not null, delegation_root_ticket_id text, space_id text,
          error_message text, output json, linked_pr_ids text[] not null default '{}',
          origin_kind text not null, pipeline_run_id text, pipeline_step_id text,
          created_at text not null, started_at text, blocked_at text, completed_at text, cancelled_at text,
          finished_at text, updated_at text not null, version int not null default 1,
          primary key (workspace_id, ticket_id))`.execute(db);
      await sql`create index tickets_newest on tickets (workspace_id, updated_at desc, ticket_id)`.execute(db);
      await sql`create index tickets_status on tickets (workspace_id, status, updated_at desc, ticket_id)`.execute(db);
      await sql`create index tickets_assignee on tickets (workspace_id, assignee_id, updated_at desc, ticket_id)`.execute(
        db,
      );
      await sql`create index tickets_key on tickets (workspace_id, key)`.execute(db);
      await sql`
        create table ticket_collaborators (
          workspace_id text not null, ticket_id text not null, principal_id text not null,
          principal_type text not null, role text not null, added_at text not null,
          primary key (workspace_id, ticket_id, principal_id))`.execute(db);
      await sql`
        create table ticket_ids (ticket_id text, workspace text, primary key (ticket_id, workspace))`.execute(db);
      await sql`
        create table agent_ids (agent_id text, workspace text, primary key (agent_id, workspace))`.execute(db);
    },
  },
  '0002_missing_capabilities': {
    async up(db) {
      await sql`
        create table missing_capabilities (
          id text primary key, status text not null, severity text not null,
          what_i_wanted text not null, user_intent text not null,
          context_tool text, context_app text, suggested_shape text,
          triage_note text, resolution_note text, resolved_pr_url text, duplicate_of text,
          reporter text not null, created_at text not null, updated_at text not null, resolved_at text)`.execute(db);
      await sql`create index missing_capabilities_newest on missing_capabilities (created_at desc, id)`.execute(db);
      await sql`create index missing_capabilities_reporter on missing_capabilities (reporter, created_at desc, id)`.execute(
        db,
      );
    },
  },
});
