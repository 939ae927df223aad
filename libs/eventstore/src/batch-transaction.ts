import type { Duplex } from 'node:stream';
import {
  DefaultQueryExecutor,
  DummyDriver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  Transaction,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
} from 'kysely';
import type pg from 'pg';

/** Of one connection that nobody else uses meanwhile; with `pipeline`, statements need not wait for each other. */
export type BatchClient = Pick<pg.ClientBase, 'query'> & {
  readonly pipeline?: boolean;
  readonly connection?: { readonly stream: Pick<Duplex, 'cork' | 'uncork'> };
};

const dialect: Dialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
};

/** Statements of projections are few and come again and again: parsed once per connection. */
const names = new Map<string, string>();
const MOST_NAMES = 500;

function nameOf(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= MOST_NAMES) return known;
  const name = `projection_${names.size}`;
  names.set(sql, name);
  return name;
}

/**
 * Kysely's transaction makes every statement wait for the one before. This one sends each at once, so a batch of handlers
 * can be started one after the other and waited for together, which saves a round trip per event.
 */
export class BatchTransaction {
  readonly tx: Transaction<unknown>;
  /** A statement came after its handler had returned: it waited for a result, and is behind those of later events. */
  late = false;
  /** While handlers are being started. */
  starting = false;

  constructor(client: BatchClient, together: boolean) {
    const connection: DatabaseConnection = {
      executeQuery: async <Row>(query: CompiledQuery): Promise<QueryResult<Row>> => {
        if (together && !this.starting) this.late = true;
        const name = nameOf(query.sql);
        const { command, rowCount, rows } = await client.query<Row & pg.QueryResultRow>({
          text: query.sql,
          values: [...query.parameters],
          ...(name !== undefined && { name }),
        });
        return { rows, ...(command !== 'SELECT' && { numAffectedRows: BigInt(rowCount ?? 0) }) };
      },
      streamQuery: () => {
        throw new Error('a projection does not stream; its batches are small');
      },
    };
    const executor = new DefaultQueryExecutor(new PostgresQueryCompiler(), new PostgresAdapter(), {
      // Synchronously up to the statement, which is therefore sent while its handler runs, in the handlers' order.
      provideConnection: (consumer) => consumer(connection),
    });
    this.tx = new Transaction({ config: { dialect }, dialect, driver: new DummyDriver(), executor });
  }
}
