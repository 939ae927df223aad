import pg from 'pg';

/**
 * One connection, and on it the advisory locks: a lost connection gives the locks back and undoes the transaction in the
 * same moment, so that who has lost a lock cannot go on writing. All projections of a service share it, in turns.
 */
export class ProjectorConnection {
  readonly #config: pg.ClientConfig;
  #current: Promise<Connected> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  /** Runs alone on the connection, which is made when there is none. */
  use<T>(fn: (connected: Connected) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => fn(await this.#connect()));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    await this.#turn;
    const connected = await this.#current?.catch(() => undefined);
    this.#current = undefined;
    await connected?.client.end().catch(() => {});
  }

  #connect(): Promise<Connected> {
    if (this.#current !== undefined) return this.#current;
    // Only its own end forgets it: a connection tells its end more than once, and forgetting the next one for it would leave that
    // one open, with its locks, out of everybody's reach.
    const forget = (): void => {
      if (this.#current === opened) this.#current = undefined;
    };
    const opened = this.#open(forget);
    opened.catch(forget);
    this.#current = opened;
    return opened;
  }

  async #open(gone: () => void): Promise<Connected> {
    const client = new pg.Client({
      connectionTimeoutMillis: 5000,
      // A server that vanished without closing: the connection is given up, and the batch is tried on another.
      query_timeout: 60_000,
      keepAlive: true,
      pipeline: true,
      ...this.#config,
    });
    client.on('error', gone); // without a listener the process would end
    client.on('end', gone);
    await client.connect();
    return { client, locks: new Set() };
  }
}

export interface Connected {
  client: pg.Client;
  /** Advisory locks held on this connection. */
  locks: Set<string>;
}

/** True when this connection has the lock, newly or already. */
export async function tryLock({ client, locks }: Connected, key: string): Promise<boolean> {
  if (locks.has(key)) return true;
  const { rows } = await client.query<{ got: boolean }>('select pg_try_advisory_lock(hashtextextended($1, 0)) as got', [
    key,
  ]);
  if (rows[0]?.got) locks.add(key);
  return locks.has(key);
}
