import type { Log } from '@cortex/bus';
import { schemaOf, type ServiceName } from '@cortex/contracts';
import { Kysely, PostgresDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import pg from 'pg';
import { connectAdmin } from './connect-admin.js';
import { adminConfig } from './pool.js';
import type { Migrations, Projection } from './projection.js';
import type { Reactor } from './reactor.js';
import { assertTablesOwned, secureSchema } from './secure-schema.js';

/** What provisioning needs to know of a service; a ServiceDefinition has it all. */
export interface Provisionable {
  name: ServiceName;
  tools: readonly { name: string }[];
  projections?: readonly Projection[];
  reactors?: readonly Reactor[];
  migrations?: Migrations;
  /** Tables that no projection owns: the service writes them itself. */
  stateTables?: readonly string[];
}

export interface ProvisionDatabaseOptions {
  /** URL with credentials of a superuser, or of the database's owner with CREATEROLE. */
  adminUrl: string;
  services: readonly Provisionable[];
  /** Role (`<schema>`, `<schema>_projector`) to password. */
  passwords: Readonly<Record<string, string>>;
  log?: Log;
}

/** One provisioning at a time: `up` and a deploy job may meet. */
const LOCK = 7_205_759_403;
const { escapeIdentifier: name, escapeLiteral: text } = pg;

/** Roles, schemas, migrations, grants and row-level security. Idempotent; fails by name for a table that nobody owns. */
export async function provisionDatabase(options: ProvisionDatabaseOptions): Promise<void> {
  const client = await connectAdmin(options.adminUrl);
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    for (const service of options.services) {
      const schema = schemaOf(service.name);
      await makeRoles(client, schema, options.passwords);
      await migrateSchema(options.adminUrl, schema, service.migrations ?? {});
      await client.query('begin');
      await assertTablesOwned(client, schema, service);
      await secureSchema(client, schema, service);
      await client.query('commit');
      options.log?.('info', 'schema provisioned', { schema });
    }
  } finally {
    await client.end();
  }
}

async function makeRoles(
  client: pg.Client,
  schema: string,
  passwords: Readonly<Record<string, string>>,
): Promise<void> {
  const owner = `${schema}_owner`;
  const roles = [
    [owner, 'nologin'],
    ...[schema, `${schema}_projector`].map((role) => {
      const password = passwords[role];
      if (!password) throw new Error(`role ${role} has no password; add it to the secrets of the database`);
      return [role, `login password ${text(password)}`] as const;
    }),
  ] as const;
  const there = await client.query<{ rolname: string }>('select rolname from pg_roles where rolname = any($1)', [
    roles.map(([role]) => role),
  ]);
  for (const [role, how] of roles) {
    const verb = there.rows.some((row) => row.rolname === role) ? 'alter' : 'create';
    await client.query(`${verb} role ${name(role)} ${how} nosuperuser nocreatedb nocreaterole nobypassrls`);
    if (role !== owner) await client.query(`alter role ${name(role)} set search_path = ${name(schema)}`);
  }
  // Who makes the schema has to be a member of its owner; a superuser is anyway.
  await client.query(`grant ${name(owner)} to current_user`);
  await client.query(`create schema if not exists ${name(schema)} authorization ${name(owner)}`);
}

/** Migrations run as the owner with the schema as search path, so they name no schema and make no foreign thing. */
export async function migrateSchema(
  adminUrl: string,
  schema: string,
  migrations: Migrations,
  owner = `${schema}_owner`,
): Promise<void> {
  const pool = new pg.Pool({
    ...adminConfig(adminUrl),
    max: 2,
    options: `-c role=${owner} -c search_path=${schema}`,
  });
  pool.on('error', () => {}).on('connect', (connection) => connection.on('error', () => {})); // told by the statement that meets it
  const db = new Kysely<never>({ dialect: new PostgresDialect({ pool }) });
  try {
    await pool.query(
      `create table if not exists projection_checkpoint (projection text primary key, seq bigint not null)`,
    );
    await pool.query(
      `create table if not exists snapshot (subject text primary key, seq bigint not null, version integer not null, state jsonb not null)`,
    );
    const migrator = new Migrator({
      db,
      provider: { getMigrations: () => Promise.resolve(migrations) },
      migrationTableSchema: schema,
    });
    const { error, results } = await migrator.migrateToLatest();
    if (error === undefined) return;
    const failed = results?.find(({ status }) => status === 'Error')?.migrationName;
    throw new Error(
      `migration ${failed ?? '?'} of schema ${schema} failed: ${error instanceof Error ? error.message : ''}`,
      {
        cause: error,
      },
    );
  } finally {
    await db.destroy();
  }
}

/** Names of the migrations that a schema does not have yet; a service with any is not ready. Runs as the service's role. */
export async function missingMigrations(
  pool: Pick<pg.Pool, 'query'>,
  schema: string,
  migrations: Migrations,
): Promise<string[]> {
  const table = `${name(schema)}.kysely_migration`;
  const exists = await pool.query<{ there: string | null }>('select to_regclass($1) as there', [table]);
  const wanted = Object.keys(migrations).sort();
  if (!exists.rows[0]?.there) return wanted;
  const { rows } = await pool.query<{ name: string }>(`select name from ${table}`);
  const done = new Set(rows.map((row) => row.name));
  return wanted.filter((migration) => !done.has(migration));
}
