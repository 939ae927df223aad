import { NO_WORKSPACE, unavailable, type ServiceName } from '@cortex/contracts';
import type { SessionEvent, SessionKind } from '@cortex/contracts/session';
import type { WorkspaceEvent, WorkspaceRole } from '@cortex/contracts/workspace';
import { defineProjection, tenantDb, waitFor, type Projection } from '@cortex/eventstore';
import { sql, type ColumnType, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { ToolContext } from './context.js';
import type { ServiceHost } from './host.js';
import { HOST } from './service.js';

/** A session as its start told it. Not a workspace's row: who may see it is what it is read for. */
export interface SessionRow {
  session_id: string;
  /** `_` for none. */
  workspace: string;
  project: string;
  kind: SessionKind;
  backend: string | null;
  provider: string | null;
  model: string | null;
  trigger: string;
  person_id: string | null;
  parent_session_id: string | null;
  execution_id: string | null;
  started_at: ColumnType<Date, string, never>;
  ended_at: ColumnType<Date | null, string | null, string>;
}

export interface MembershipRow {
  /** `per_` id of a person, or id of an agent. */
  principal_id: string;
  workspace: string;
  role: WorkspaceRole;
}

/** Tables that a service with rows of several owners has in its schema. */
export interface OwnershipDb {
  session_tree: SessionRow;
  memberships: MembershipRow;
}

export const ownershipTables: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`
      create table session_tree (
        session_id text primary key, workspace text not null, project text not null, kind text not null,
        backend text, provider text, model text, trigger text not null,
        person_id text, parent_session_id text, execution_id text,
        started_at timestamptz not null, ended_at timestamptz)`.execute(db);
    for (const column of ['workspace', 'person_id', 'parent_session_id']) {
      await db.schema.createIndex(`session_tree_${column}`).on('session_tree').column(column).execute();
    }
    await sql`
      create table memberships (
        principal_id text not null, workspace text not null, role text not null,
        primary key (principal_id, workspace))`.execute(db);
  },
};

export interface OwnershipViews {
  sessions: Projection<SessionEvent, OwnershipDb>;
  memberships: Projection<WorkspaceEvent, OwnershipDb>;
}

/** The views by which a service tells whose its rows are; both stand in its projections, `ownershipTables` in its migrations. */
export function ownershipViews(service: ServiceName): OwnershipViews {
  const prefix = service.replaceAll('-', '_');
  return {
    sessions: defineProjection<SessionEvent, OwnershipDb>({
      name: `${prefix}_session_tree_v1`,
      subject: 'cortex.evt.session.*.session.*',
      tables: ['session_tree'],
      on: {
        SessionStarted: ({ id, workspace, at, data }, tx) =>
          tx
            .insertInto('session_tree')
            .values({
              session_id: id,
              workspace,
              project: data.project,
              kind: data.kind,
              backend: data.backend,
              provider: data.provider,
              model: data.model,
              trigger: data.trigger,
              person_id: data.person_id,
              parent_session_id: data.parent_session_id,
              execution_id: data.execution_id,
              started_at: at,
              ended_at: null,
            })
            .onConflict((oc) => oc.column('session_id').doNothing())
            .execute(),
        SessionEnded: ({ id, workspace, at }, tx) =>
          tx
            .updateTable('session_tree')
            .where('workspace', '=', workspace)
            .where('session_id', '=', id)
            .where('ended_at', 'is', null)
            .set({ ended_at: at })
            .execute(),
      },
    }),
    memberships: defineProjection<WorkspaceEvent, OwnershipDb>({
      name: `${prefix}_memberships_v1`,
      subject: 'cortex.evt.team.*.workspace.*',
      tables: ['memberships'],
      on: {
        WorkspaceMemberSet: ({ workspace, data }, tx) =>
          tx
            .insertInto('memberships')
            .values({ principal_id: data.principal_id, workspace, role: data.role })
            .onConflict((oc) => oc.columns(['principal_id', 'workspace']).doUpdateSet({ role: data.role }))
            .execute(),
        WorkspaceMemberRemoved: ({ workspace, data }, tx) =>
          tx
            .deleteFrom('memberships')
            .where('principal_id', '=', data.principal_id)
            .where('workspace', '=', workspace)
            .execute(),
      },
    }),
  };
}

/** What the caller may see of one workspace's rows. */
export interface Part {
  workspace: string;
  /** Holds for the rows that show, of a table with the columns `session_id` and `project`. */
  shows: RawBuilder<SqlBool>;
}

const EVERY = sql<SqlBool>`true`;
const ofPerson = (person: string) =>
  sql<SqlBool>`session_id in (select s.session_id from session_tree s where s.person_id = ${person})`;
/** A session and all that it started, directly or not. `union` ends a ring, should the log ever hold one. */
const treeOf = (session: string) => sql`
  with recursive tree as (
    select ${session}::text as session_id
    union select s.session_id from session_tree s join tree on s.parent_session_id = tree.session_id)
  select session_id from tree`;

/**
 * Whose rows a caller gets (threat T86): a person those of own sessions and of the workspaces that the person belongs to;
 * an agent those of its session tree and of its project, in its workspace, or without one of the same person; an
 * operator all. Workspace by workspace, since no reader sees two. Errors: `unavailable` for a session that the view lacks.
 */
export async function visibleTo(ctx: ToolContext, ownership: OwnershipViews): Promise<Part[]> {
  const { caller, scope } = ctx;
  if (caller.roles.includes('operator')) {
    const workspaces = await everyWorkspace(ctx.get<ServiceHost>(HOST));
    return workspaces.map((workspace) => ({ workspace, shows: EVERY }));
  }
  if (caller.type === 'user') return partsOfPerson(ctx, ownership, caller.id);
  return scope.session_id === undefined ? [] : partsOfAgent(ctx, ownership, scope.session_id);
}

/** Every workspace that a session ran in or somebody belongs to, and `_`. */
export async function everyWorkspace({ pool }: ServiceHost): Promise<string[]> {
  const { rows } = await sql<{ workspace: string }>`
    select workspace from session_tree union select workspace from memberships union select ${NO_WORKSPACE}::text
    order by 1`.execute(tenantDb<OwnershipDb>(pool, NO_WORKSPACE));
  return rows.map(({ workspace }) => workspace);
}

async function partsOfPerson(ctx: ToolContext, ownership: OwnershipViews, person: string): Promise<Part[]> {
  const db = await ctx.read(ownership.memberships);
  const [joined, ran] = await Promise.all([
    db.selectFrom('memberships').select('workspace').where('principal_id', '=', person).execute(),
    db.selectFrom('session_tree').select('workspace').distinct().where('person_id', '=', person).execute(),
  ]);
  const member = new Set(joined.map(({ workspace }) => workspace));
  const own = ran.map(({ workspace }) => workspace).filter((workspace) => !member.has(workspace));
  return [
    ...[...member].map((workspace) => ({ workspace, shows: EVERY })),
    ...own.map((workspace) => ({ workspace, shows: ofPerson(person) })),
  ];
}

async function partsOfAgent(ctx: ToolContext, ownership: OwnershipViews, id: string): Promise<Part[]> {
  const session = await findSession(ctx, ownership, id);
  if (session === undefined) throw unavailable('session', 'is not known here yet', 'try again in a moment');
  const { workspace: home, project, person_id } = session;
  const tree = treeOf(id);
  const inTree = sql<SqlBool>`session_id in (${tree})`;
  const db = tenantDb<OwnershipDb>(ctx.get<ServiceHost>(HOST).pool, NO_WORKSPACE);
  const ran = await sql<{ workspace: string }>`
    select distinct workspace from session_tree where session_id in (${tree})`.execute(db);
  const shared =
    home !== NO_WORKSPACE
      ? sql<SqlBool>`project = ${project}`
      : person_id === null
        ? sql<SqlBool>`false`
        : sql<SqlBool>`(project = ${project} and ${ofPerson(person_id)})`;
  return [
    { workspace: home, shows: sql<SqlBool>`(${inTree} or ${shared})` },
    ...ran.rows.filter((row) => row.workspace !== home).map(({ workspace }) => ({ workspace, shows: inTree })),
  ];
}

/**
 * A session by its id, whichever workspace it is in; undefined when the log has none. Waits for the view, at most 2 s, before
 * it says so. Errors: `unavailable` when the view is further behind.
 */
export async function findSession(
  ctx: Pick<ToolContext, 'get' | 'signal'>,
  { sessions }: OwnershipViews,
  id: string,
): Promise<SessionRowRead | undefined> {
  const { bus, pool, projections: runner } = ctx.get<ServiceHost>(HOST);
  const find = () =>
    tenantDb<OwnershipDb>(pool, NO_WORKSPACE)
      .selectFrom('session_tree')
      .selectAll()
      .where('session_id', '=', id)
      .executeTakeFirst();
  const found = await find();
  if (found !== undefined) return found;
  // No view holds that sequence: returns when nothing is pending for it.
  await waitFor({ bus, pool, runner, projection: sessions, seq: Number.MAX_SAFE_INTEGER, signal: ctx.signal });
  return find();
}

/** As it is read. */
export type SessionRowRead = Omit<SessionRow, 'started_at' | 'ended_at'> & { started_at: Date; ended_at: Date | null };

/** How many workspaces are read at once: a caller of many must not take every connection. */
const AT_ONCE = 4;

/** Reads each part with a reader of its workspace, in the order of the parts. */
export async function readParts<Db, T>(
  ctx: Pick<ToolContext, 'get' | 'signal'>,
  parts: readonly Part[],
  read: (db: Kysely<Db>, part: Part) => Promise<T>,
): Promise<T[]> {
  const { pool } = ctx.get<ServiceHost>(HOST);
  const results: T[] = [];
  for (let from = 0; from < parts.length; from += AT_ONCE) {
    ctx.signal.throwIfAborted();
    const some = parts.slice(from, from + AT_ONCE);
    results.push(...(await Promise.all(some.map((part) => read(tenantDb<Db>(pool, part.workspace), part)))));
  }
  return results;
}
