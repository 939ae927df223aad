import { connectAdmin } from '@cortex/eventstore/connect-admin';
import type pg from 'pg';

/** One connection as somebody who may do everything there; closed behind the work. */
export async function withDatabase<T>(adminUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectAdmin(adminUrl);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
