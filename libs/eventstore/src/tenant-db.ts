import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@cortex/bus';
import { assertToken } from '@cortex/contracts';
import {
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import pg from 'pg';

/**
 * A pool whose connections pipeline, so that begin, setting and query of a reader leave together, and whose idle
 * connections may break without ending the process. A statement may take 30 s.
 */
export function createPool(config: pg.PoolConfig, log: Log = () => {}): pg.Pool {
  const pool = new pg.Pool({
    connectionTimeoutMillis: 5000,
    statement_timeout: 30_000,
    // Of a server that vanished without closing nothing else would be heard.
    query_timeout: 35_000,
    keepAlive: true,
    max: 6,
    ...config,
    pipeline: true,
  });
  pool.on('error', (error) => log('warn', 'a database connection broke', { error: error.message }));
  if (typeof config.password === 'function') patientWithPasswords(pool);
  return pool;
}

const WRONG_PASSWORD = '28P01';
const PATIENCE_MS = 10_000;

/**
 * In a rotation database and file change one after the other. Who needs a connection in between waits for the second instead
 * of failing: the password is asked for anew at each try.
 */
function patientWithPasswords(pool: pg.Pool): void {
  const connectOnce = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const connect = async (): Promise<pg.PoolClient> => {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await connectOnce();
      } catch (error) {
        if ((error as { code?: string }).code !== WRONG_PASSWORD || performance.now() > until || pool.ending)
          throw error;
        await sleep(200);
      }
    }
  };
  type Told = (error: Error | undefined, client: pg.PoolClient | undefined, release: unknown) => void;
  // `pool.query` takes its connection by the form with a callback.
  pool.connect = ((told?: Told) => {
    if (!told) return connect();
    connect().then(
      (client) => told(undefined, client, (broken?: boolean) => client.release(broken)),
      (error: Error) => told(error, undefined, () => undefined),
    );
    return undefined;
  }) as typeof pool.connect;
}

/**
 * Reads of one workspace's rows: every query runs in a read-only transaction that row-level security binds to the
 * workspace. `NO_WORKSPACE` reads what belongs to none. There is no reader without one. Errors: `invalid_argument`.
 */
export function tenantDb<Db>(pool: pg.Pool, workspace: string): Kysely<Db> {
  return tenant(pool, workspace, 'read only');
}

/** The same for the service's own tables (`stateTables`), which it may write. */
export function stateDb<Db>(pool: pg.Pool, workspace: string): Kysely<Db> {
  return tenant(pool, workspace, 'read write');
}

function tenant<Db>(pool: pg.Pool, workspace: string, mode: 'read only' | 'read write'): Kysely<Db> {
  // A token holds no quote, so it may stand in the statement: one round trip instead of two.
  const token = assertToken('workspace_id', workspace);
  const begin = `begin ${mode}; select set_config('cortex.workspace', '${token}', true)`;
  const dialect: Dialect = {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new TenantDriver(pool, begin),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
  return new Kysely<Db>({ dialect });
}

/** Every connection is a transaction from the moment it is taken to the moment it is given back. */
class TenantDriver implements Driver {
  constructor(
    readonly pool: pg.Pool,
    readonly begin: string,
  ) {}

  async init(): Promise<void> {}

  async acquireConnection(): Promise<TenantConnection> {
    return new TenantConnection(await this.pool.connect(), this.begin);
  }

  async beginTransaction(): Promise<void> {}

  async commitTransaction(connection: TenantConnection): Promise<void> {
    await connection.end('commit');
  }

  async rollbackTransaction(connection: TenantConnection): Promise<void> {
    await connection.end('rollback');
  }

  async releaseConnection(connection: TenantConnection): Promise<void> {
    await connection.release();
  }

  /** The pool is its owner's. */
  async destroy(): Promise<void> {}
}

class TenantConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  readonly #begun: Promise<unknown>;
  readonly #onError = () => {
    this.#broken = true;
  };
  #broken = false;
  #failed = false;
  #ended = false;

  constructor(client: pg.PoolClient, begin: string) {
    this.#client = client;
    client.on('error', this.#onError); // one that is taken has no other listener, and the process would end
    this.#begun = client.query(begin);
    this.#begun.catch(() => (this.#broken = true)); // told by the query behind it
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      const result = this.#client.query(query.sql, [...query.parameters]);
      // Were the setting to fail, the query would see no row at all; better that its caller hears why.
      const [, { command, rowCount, rows }] = await Promise.all([this.#begun, result]);
      const changes = ['INSERT', 'UPDATE', 'DELETE', 'MERGE'].includes(command);
      return { rows: rows as Row[], ...(changes && { numAffectedRows: BigInt(rowCount ?? 0) }) };
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }

  // eslint-disable-next-line require-yield
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('a reader of a workspace does not stream; read in pages');
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    this.#ended = true;
    await this.#client.query(how);
  }

  async release(): Promise<void> {
    try {
      if (!this.#ended) await this.end(this.#failed ? 'rollback' : 'commit');
    } catch (error) {
      this.#broken = true;
      if (!this.#failed) throw error;
    } finally {
      this.#client.off('error', this.#onError);
      // A connection in an unknown state would carry one workspace's setting into the next.
      this.#client.release(this.#broken);
    }
  }
}
