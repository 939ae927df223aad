import type { AgentRole } from '@cortex/contracts/agent';
import type { MemoryPermission, MemoryType, Veracity } from '@cortex/contracts/memory';
import { defineMigrations } from '@cortex/eventstore';
import { sql, type ColumnType, type Kysely } from 'kysely';

type Time = ColumnType<Date, string, string>;

export interface MemoryDb {
  /** Source: AgentRegistered of team. */
  agents: { workspace_id: string; agent_id: string; role: AgentRole };
  /** Source: RepoAdded of review. */
  repos: {
    workspace_id: string;
    repo_id: string;
    /** `owner/name`. */
    full_name: string;
    /** As a scope of domains. */
    slug: string;
  };
  /** Source: MemoryDomainCreated. */
  domains: {
    workspace_id: string;
    /** Full slug. */
    domain: string;
    domain_name: string;
    /** Scope slug of the repository; null for the whole workspace. */
    repo: string | null;
    label: string;
    description: string | null;
    created_by_role: AgentRole | null;
    created_at: Time;
  };
  /** What is not here is `read`. Source: MemoryAccessGranted. */
  grants: { workspace_id: string; domain_name: string; role: AgentRole; permission: MemoryPermission };
  facts: {
    workspace_id: string;
    id: string;
    domain: string;
    topic: string;
    content: string;
    memory_type: MemoryType;
    veracity: Veracity;
    /** 0 to 1. */
    confidence: number;
    authored_by_agent_id: string;
    authored_by_role: AgentRole | null;
    mentioned_by_agent_ids: string[];
    source_observation_ids: string[];
    superseded_by: string | null;
    valid_until: ColumnType<Date | null, string | null, never>;
    mention_count: number;
    /** Tokens of topic and content, repeats counted. */
    tokens: number;
    /** Place in the log: the larger, the newer; no two facts share one. */
    place: ColumnType<string, number, never>;
    created_at: Time;
    updated_at: Time;
  };
  /** Which fact holds which token how often: of facts that are not superseded. A fact is its place here, which is short. */
  fact_terms: {
    workspace_id: string;
    term: string;
    place: ColumnType<string, number, never>;
    tf: number;
    /** What scoring and filtering ask of the fact, so that they need not look it up. */
    tokens: number;
    domain: string;
    valid_until: ColumnType<Date | null, string | null, never>;
  };
  /** Which facts are related; walked in both directions. Source: MemoryFactsLinked. */
  fact_links: { workspace_id: string; source: string; target: string; weight: number };
  /** In how many facts that are not superseded a token stands, expired ones among them. */
  term_totals: { workspace_id: string; term: string; facts: ColumnType<string, number, number> };
  /** Number and tokens of the facts that are not superseded, expired ones among them. */
  fact_totals: {
    workspace_id: string;
    facts: ColumnType<string, number, number>;
    tokens: ColumnType<string, number, number>;
  };
}

export const migrations = defineMigrations({
  '0001_memory': {
    async up(db: Kysely<unknown>) {
      await db.schema
        .createTable('domains')
        .addColumn('workspace_id', 'text', (column) => column.notNull())
        .addColumn('domain', 'text', (column) => column.notNull())
        .addColumn('domain_name', 'text', (column) => column.notNull())
        .addColumn('repo', 'text')
        .addColumn('label', 'text', (column) => column.notNull())
        .addColumn('description', 'text')
        .addColumn('created_by_role', 'text')
        .addColumn('created_at', 'timestamptz', (column) => column.notNull())
        .addPrimaryKeyConstraint('domains_pk', ['workspace_id', 'domain'])
        .execute();
      await db.schema
        .createTable('grants')
        .addColumn('workspace_id', 'text', (column) => column.notNull())
        .addColumn('domain_name', 'text', (column) => column.notNull())
        .addColumn('role', 'text', (column) => column.notNull())
        .addColumn('permission', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('grants_pk', ['workspace_id', 'domain_name', 'role'])
        .execute();
      await db.schema
        .createTable('facts')
        .addColumn('workspace_id', 'text', (column) => column.notNull())
        .addColumn('id', 'text', (column) => column.notNull())
        .addColumn('domain', 'text', (column) => column.notNull())
        .addColumn('topic', 'text', (column) => column.notNull())
        .addColumn('content', 'text', (column) => column.notNull())
        .addColumn('memory_type', 'text', (column) => column.notNull())
        .addColumn('veracity', 'text', (column) => column.notNull())
        .addColumn('confidence', 'float8', (column) => column.notNull())
        .addColumn('authored_by_agent_id', 'text', (column) => column.notNull())
        .addColumn('authored_by_role', 'text')
        .addColumn('mentioned_by_agent_ids', sql`text[]`, (column) => column.notNull())
        .addColumn('source_observation_ids', sql`text[]`, (column) => column.notNull())
        .addColumn('superseded_by', 'text')
        .addColumn('valid_until', 'timestamptz')
        .addColumn('mention_count', 'integer', (column) => column.notNull())
        .addColumn('tokens', 'integer', (column) => column.notNull())
        .addColumn('place', 'bigint', (column) => column.notNull())
        .addColumn('created_at', 'timestamptz', (column) => column.notNull())
        .addColumn('updated_at', 'timestamptz', (column) => column.notNull())
        .addPrimaryKeyConstraint('facts_pk', ['workspace_id', 'id'])
        .execute();
      await sql`create unique index facts_place on facts (workspace_id, place)`.execute(db);
      await sql`create index facts_ending on facts (workspace_id, valid_until) include (tokens)
        where superseded_by is null and valid_until is not null`.execute(db);
      await sql`create table fact_terms (
        workspace_id text not null, term text not null, place bigint not null, tf integer not null,
        tokens integer not null, domain text not null, valid_until timestamptz,
        constraint fact_terms_pk primary key (workspace_id, term, place)
          include (tf, tokens, domain, valid_until))`.execute(db);
      await db.schema.createIndex('fact_terms_of_fact').on('fact_terms').columns(['workspace_id', 'place']).execute();
      await db.schema
        .createTable('fact_links')
        .addColumn('workspace_id', 'text', (column) => column.notNull())
        .addColumn('source', 'text', (column) => column.notNull())
        .addColumn('target', 'text', (column) => column.notNull())
        .addColumn('weight', 'float8', (column) => column.notNull())
        .addPrimaryKeyConstraint('fact_links_pk', ['workspace_id', 'source', 'target'])
        .execute();
      await db.schema.createIndex('fact_links_back').on('fact_links').columns(['workspace_id', 'target']).execute();
      await db.schema
        .createTable('agents')
        .addColumn('workspace_id', 'text', (column) => column.notNull())
        .addColumn('agent_id', 'text', (column) => column.notNull())
        .addColumn('role', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('agents_pk', ['workspace_id', 'agent_id'])
        .execute();
      await db.schema
        .createTable('repos')
        .addColumn('workspace_id', 'text', (column) => column.notNull())
        .addColumn('repo_id', 'text', (column) => column.notNull())
        .addColumn('full_name', 'text', (column) => column.notNull())
        .addColumn('slug', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('repos_pk', ['workspace_id', 'repo_id'])
        .execute();
      await sql`create index fact_terms_ending on fact_terms (workspace_id, term, valid_until)
        where valid_until is not null`.execute(db);
      await db.schema
        .createTable('term_totals')
        .addColumn('workspace_id', 'text', (column) => column.notNull())
        .addColumn('term', 'text', (column) => column.notNull())
        .addColumn('facts', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('term_totals_pk', ['workspace_id', 'term'])
        .execute();
      await db.schema
        .createTable('fact_totals')
        .addColumn('workspace_id', 'text', (column) => column.primaryKey())
        .addColumn('facts', 'bigint', (column) => column.notNull())
        .addColumn('tokens', 'bigint', (column) => column.notNull())
        .execute();
    },
  },
});
