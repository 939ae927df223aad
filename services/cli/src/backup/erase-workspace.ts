import { EVENTS_STREAM } from '@cortex/contracts';
import { schemaOf } from '@cortex/contracts/services';
import type { Provisionable } from '@cortex/eventstore';
import { jetstreamManager } from '@nats-io/jetstream';
import pg from 'pg';
import type { Admin } from '../admin.js';
import { CliError } from '../exit.js';
import { tell } from '../output.js';
import { asOwner, withDatabase } from './database.js';

const { escapeIdentifier: name } = pg;

/** Everything that was ever committed in a workspace: it stands in the subject. */
const subjectsOf = (workspace: string): string => `cortex.evt.*.${workspace}.>`;

/**
 * Takes the commits of workspaces out of the log, and the snapshots that were made of them. Each is overwritten on the disk, which a
 * purge of its subject would not do. Views still show them until they are made anew. To be done with no service at work: each remembers
 * aggregates. Answers how many commits there were.
 */
export async function eraseFromLog(
  { bus, adminUrl }: Pick<Admin, 'bus' | 'adminUrl'>,
  services: readonly Provisionable[],
  workspaces: readonly string[],
): Promise<number> {
  const jsm = await jetstreamManager(bus.nc);
  let erased = 0;
  let told = Date.now();
  for (const workspace of workspaces) {
    const subjects = subjectsOf(workspace);
    for (let from = 1; ;) {
      const message = await bus.direct.nextFromLeader(EVENTS_STREAM, subjects, from);
      if (message === null) break;
      await jsm.streams.deleteMessage(EVENTS_STREAM, message.seq, true);
      from = message.seq + 1;
      erased++;
      if (Date.now() - told < 2_000) continue;
      told = Date.now();
      tell(`${erased} commits are erased`);
    }
    const { state } = await jsm.streams.info(EVENTS_STREAM, { subjects_filter: subjects });
    const left = Object.keys(state.subjects ?? {});
    if (left.length > 0)
      throw new CliError(`the log still has ${left.length} subjects of ${workspace}; erase it again`);
  }
  await withDatabase(adminUrl, async (client) => {
    for (const service of services) {
      const schema = schemaOf(service.name);
      await asOwner(client, schema, '', () =>
        client.query(
          `delete from ${name(schema)}.snapshot where subject like 'cortex.evt.%' and split_part(subject, '.', 4) = any($1)`,
          [workspaces],
        ),
      );
    }
  });
  return erased;
}

export interface Remainder {
  table: string;
  rows: number;
}

/** Tables whose rows still name the workspace as the one that they belong to. */
export async function remaindersOf(
  adminUrl: string,
  services: readonly Provisionable[],
  workspace: string,
): Promise<Remainder[]> {
  return withDatabase(adminUrl, async (client) => {
    const columns = await client.query<{ schema: string; table: string; column: string }>(
      `select table_schema as schema, table_name as table, column_name as column
         from information_schema.columns join information_schema.tables using (table_schema, table_name)
        where table_schema = any($1) and table_type = 'BASE TABLE' and column_name in ('workspace', 'workspace_id')
        order by 1, 2`,
      [services.map((service) => schemaOf(service.name))],
    );
    const left: Remainder[] = [];
    for (const { schema, table, column } of columns.rows) {
      const { rows } = await asOwner(client, schema, 'read only', () =>
        client.query<{ n: string }>(
          `select count(*) as n from ${name(schema)}.${name(table)} where ${name(column)}::text = $1`,
          [workspace],
        ),
      );
      const n = Number(rows[0]?.n);
      if (n > 0) left.push({ table: `${schema}.${table}`, rows: n });
    }
    return left;
  });
}
