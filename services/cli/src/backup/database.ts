import { adminConfig } from '@cortex/eventstore/pool';
import pg from 'pg';

/** One connection as somebody who may do everything there; closed behind the work. */
export async function withDatabase<T>(adminUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(adminConfig(adminUrl));
  client.on('error', () => undefined); // told by the query that meets it
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
