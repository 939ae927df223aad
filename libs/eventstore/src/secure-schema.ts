import pg from 'pg';
import type { Projection } from './projection.js';

/** Which tables of a schema are whose. */
export interface TableOwners {
  projections?: readonly Projection[];
  stateTables?: readonly string[];
}

const { escapeIdentifier: name } = pg;
const INTERNAL = ['projection_checkpoint', 'snapshot', 'kysely_migration', 'kysely_migration_lock'];

interface Relation {
  name: string;
  kind: 'r' | 'p' | 'v' | 'm' | 'f';
  tenant: boolean;
  invoker: boolean;
}

async function relationsOf(client: pg.ClientBase, schema: string): Promise<Relation[]> {
  const { rows } = await client.query<Relation>(
    `select c.relname as name, c.relkind as kind,
            exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'workspace_id' and not a.attisdropped) as tenant,
            coalesce('security_invoker=true' = any(c.reloptions), false) as invoker
       from pg_class c where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
      order by c.relname`,
    [name(schema)],
  );
  return rows;
}

/**
 * Fails by name for a table that no projection and no `stateTables` lists, for one that two list, for one that is listed
 * and not there, and for a view that would read with its owner's rights, past row-level security.
 */
export async function assertTablesOwned(client: pg.ClientBase, schema: string, owners: TableOwners): Promise<void> {
  const { projections = [], stateTables = [] } = owners;
  const claims = new Map<string, string>();
  const claim = (table: string, by: string) => {
    const other = claims.get(table);
    if (other !== undefined)
      throw new Error(`table ${schema}.${table} is written by ${other} and ${by}; give each its own`);
    claims.set(table, by);
  };
  for (const { name: projection, tables } of projections)
    for (const table of tables) claim(table, `projection ${projection}`);
  for (const table of stateTables) claim(table, 'stateTables');
  const relations = await relationsOf(client, schema);
  for (const { name: relation, kind, invoker } of relations) {
    if (INTERNAL.includes(relation)) continue;
    if (kind === 'm' || kind === 'f' || (kind === 'v' && !invoker)) {
      throw new Error(
        `view ${schema}.${relation} reads past row-level security; make it with (security_invoker = true)`,
      );
    }
    if (kind !== 'v' && !claims.delete(relation)) {
      throw new Error(
        `table ${schema}.${relation} has no owner; list it in the tables of a projection that the service's definition names, or in its stateTables`,
      );
    }
  }
  for (const [table, by] of claims) {
    throw new Error(`table ${schema}.${table} of ${by} does not exist; make it in a migration`);
  }
}

/**
 * Grants and row-level security of a schema, all of it anew: the service reads what projections write and writes only its
 * own tables, the projector the other way round, and every table with a `workspace_id` shows the service one workspace.
 * `only`: these tables instead of all.
 */
export async function secureSchema(
  client: pg.ClientBase,
  schema: string,
  owners: TableOwners,
  only?: readonly string[],
): Promise<void> {
  const service = name(schema);
  const projector = name(`${schema}_projector`);
  const owner = name(`${schema}_owner`);
  const projected = new Set((owners.projections ?? []).flatMap(({ tables }) => [...tables]));
  const statements = [
    `revoke all on schema ${service} from public`,
    `grant usage on schema ${service} to ${service}, ${projector}`,
    `grant usage, select on all sequences in schema ${service} to ${service}, ${projector}`,
  ];
  for (const { name: relation, kind, tenant } of await relationsOf(client, schema)) {
    if (only && !only.includes(relation)) continue;
    const table = `${service}.${name(relation)}`;
    statements.push(`revoke all on ${table} from public, ${service}, ${projector}`);
    const grant = (what: string, to: string) => statements.push(`grant ${what} on ${table} to ${to}`);
    const all = 'select, insert, update, delete';
    if (kind === 'v' || relation.startsWith('kysely_migration')) grant('select', service);
    else if (relation === 'projection_checkpoint' || projected.has(relation)) {
      grant('select', service);
      grant(all, projector);
    } else grant(all, service);
    if (!tenant || kind === 'v') continue;
    statements.push(
      `alter table ${table} enable row level security`,
      `alter table ${table} force row level security`,
      `drop policy if exists cortex_tenant on ${table}`,
      `drop policy if exists cortex_all on ${table}`,
      `create policy cortex_tenant on ${table} to ${service} using (workspace_id = current_setting('cortex.workspace', true))` +
        ` with check (workspace_id = current_setting('cortex.workspace', true))`,
      `create policy cortex_all on ${table} to ${projector}, ${owner} using (true) with check (true)`,
    );
  }
  await client.query(statements.join(';\n'));
}
