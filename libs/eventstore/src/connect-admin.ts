import { unavailable } from '@cortex/contracts';
import pg from 'pg';
import { adminConfig } from './pool.js';

/** A server that hangs takes connections and never says a word. */
const CONNECT_MS = 10_000;

/**
 * One connection with the credentials in the URL; whoever asked for it ends it. `unavailable` with the database's host and port
 * when it is not there, does not answer in time, or refuses.
 */
export async function connectAdmin(url: string, limitMs = CONNECT_MS): Promise<pg.Client> {
  const client = new pg.Client({ ...adminConfig(url), connectionTimeoutMillis: limitMs });
  client.on('error', () => {}); // told by the query that meets it; without a listener the process would end
  try {
    await client.connect();
    return client;
  } catch (error) {
    const reason = error instanceof Error ? error.message || String((error as { code?: string }).code) : String(error);
    const place = `${client.host}:${client.port}`;
    throw unavailable('database', `cannot be reached at ${place} (${reason})`, 'start it, or correct the address', {
      cause: error,
    });
  }
}
