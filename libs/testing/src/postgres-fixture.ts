import { createHash, randomBytes } from 'node:crypto';
import { schemaOf } from '@cortex/contracts';
import { provisionDatabase, type Provisionable } from '@cortex/eventstore';
import pg from 'pg';
import { postgresServer } from './postgres-server.js';

export interface PostgresFixture extends AsyncDisposable {
  /** Without credentials: `CORTEX_DATABASE_URL`. */
  readonly url: string;
  /** As the superuser, with credentials. */
  readonly adminUrl: string;
  passwordOf(role: string): string;
  /** As a role (`ticket`, `ticket_projector`) or the superuser (no argument); ended with the fixture. */
  pool(role?: string): pg.Pool;
}

/** Any two migrations of one run at a time; roles belong to the whole server. */
const LOCK = 7_205_759_404;

/** The same for the whole run: roles are shared by its databases. */
const passwordOf = (role: string): string => `test-${role}`;

/** A database of its own, copied from one that is migrated once per run for these services. About 0.1 s. */
export async function postgresFixture(services: readonly Provisionable[] = []): Promise<PostgresFixture> {
  const server = await postgresServer();
  const name = `test_${randomBytes(8).toString('hex')}`;
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  try {
    await admin.query('select pg_advisory_lock($1)', [LOCK]);
    const template = await templateOf(admin, server, services);
    await admin.query(`create database ${name} template ${template} strategy file_copy`);
  } finally {
    await admin.end();
  }
  const adminUrl = databaseUrl(server, name);
  const bare = new URL(adminUrl);
  bare.username = '';
  bare.password = '';
  const pools: pg.Pool[] = [];
  return {
    url: bare.href,
    adminUrl,
    passwordOf,
    pool(role) {
      const url = new URL(adminUrl);
      if (role !== undefined) [url.username, url.password] = [role, passwordOf(role)];
      const schema = role?.replace(/_(owner|projector)$/, '');
      const pool = new pg.Pool({
        connectionString: url.href,
        max: 4,
        ...(schema && { options: `-c search_path=${schema}` }),
      });
      pool.on('error', () => undefined); // the database is dropped below
      pools.push(pool);
      return pool;
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(pools.map((pool) => pool.end()));
      const client = new pg.Client({ connectionString: server });
      await client.connect();
      await client.query(`drop database if exists ${name} with (force)`);
      await client.end();
    },
  };
}

/** A migrated database to copy from; made by whoever needs it first. */
async function templateOf(admin: pg.Client, server: string, services: readonly Provisionable[]): Promise<string> {
  const name = `template_${fingerprint(services)}`;
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [name]);
  if (rowCount) return name;
  const draft = `${name}_${randomBytes(4).toString('hex')}`;
  await admin.query(`create database ${draft}`);
  const roles = services.flatMap(({ name: service }) => [schemaOf(service), `${schemaOf(service)}_projector`]);
  await provisionDatabase({
    adminUrl: databaseUrl(server, draft),
    services,
    passwords: Object.fromEntries(roles.map((role) => [role, passwordOf(role)])),
  });
  await admin.query(`alter database ${draft} rename to ${name}`);
  return name;
}

/** By the text of the migrations: two files that test different tables of one service must not share. */
function fingerprint(services: readonly Provisionable[]): string {
  const hash = createHash('sha256');
  for (const { name, migrations = {}, projections = [], stateTables = [] } of services) {
    // JSON leaves functions out, and it is their text that counts.
    const withCode = (_key: string, value: unknown) => (typeof value === 'function' ? value.toString() : value);
    hash.update(JSON.stringify([name, migrations, projections.map((p) => [p.name, p.tables]), stateTables], withCode));
  }
  return hash.digest('hex').slice(0, 16);
}

function databaseUrl(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}
