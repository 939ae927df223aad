import { connectAdmin } from '@cortex/eventstore/connect-admin';
import pg from 'pg';

const { escapeIdentifier: name } = pg;

/** One connection as somebody who may do everything there; closed behind the work. */
export async function withDatabase<T>(adminUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectAdmin(adminUrl);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * In one transaction of the given mode (`read only`, …; '' for the default). Not everybody who may make roles passes by row-level
 * security: the owner of the schema does.
 */
export async function asOwner<T>(client: pg.Client, schema: string, mode: string, work: () => Promise<T>): Promise<T> {
  await client.query(`begin ${mode}`);
  try {
    await client.query(`set local role ${name(`${schema}_owner`)}`);
    const done = await work();
    await client.query('commit');
    return done;
  } catch (error) {
    await client.query('rollback').catch(() => undefined); // the connection is gone, and with it the transaction
    throw error;
  }
}
