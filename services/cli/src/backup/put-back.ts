import { copyFile } from 'node:fs/promises';
import { dirname, join, basename } from 'node:path';
import { CALLS_STREAM, EVENTS_STREAM, streamOf } from '@cortex/contracts';
import { schemaOf } from '@cortex/contracts/services';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Secrets } from '@cortex/service-kit';
import pg from 'pg';
import { CliError, EXIT } from '../exit.js';
import { readJson, writeJson, writePrivate, type Home } from '../home.js';
import { makeDatabase, provision } from '../provision.js';
import type { Quiet } from '../up/servers-alone.js';
import { rebuildAll, type RebuiltView } from '../views.js';
import { withDatabase } from './database.js';
import { dropEarlyAnchors } from './early-anchors.js';
import { eraseFromLog } from './erase-workspace.js';
import { noteErased, readErased, together, type Erased } from './erased.js';
import { countKept, keptTables, loadTable } from './kept-tables.js';
import { deleteStreams, streamsOn } from './log-streams.js';
import type { Manifest } from './manifest.js';
import { putSnapshot } from './stream-snapshot.js';
import { CONFIG_FILES, migrationsOf, progress } from './take.js';

export interface PutBack {
  folder: string;
  /** Its digests were checked. */
  manifest: Manifest;
  home: Home;
  /** Whether data that is there may go. */
  replace: boolean;
  /** Erasures that are known besides those of the home and of the backup. */
  erased: Erased[];
  replicas?: number;
  callsDays?: number;
  tell: (text: string) => void;
}

export interface Restored {
  streams: { stream: string; messages: number; last_seq: number }[];
  tables: { table: string; rows: number }[];
  views: RebuiltView[];
  /** Workspaces that were erased after the backup, and the commits of them that it still had. */
  erased: { workspaces: string[]; commits: number };
}

/**
 * Puts a backup in the place of whatever is there: streams as they were, sequence by sequence; tables that no log has; every view anew
 * from the log. What breaks off on the way leaves data, so the next try needs `replace`.
 */
export async function putBack(quiet: Quiet, options: PutBack): Promise<Restored> {
  const { folder, manifest, home, tell } = options;
  const { bus, adminUrl, services, secrets } = quiet;
  assertReadable(manifest, quiet);
  // A fresh cluster has none of our name.
  await makeDatabase(adminUrl);
  await assertRoom(quiet, options.replace);
  const erased = together(options.erased, readErased(home.erased), readErased(join(folder, 'config', 'erased.json')));
  const keys = quiet.deployed ? secrets : await putConfig(options, secrets);

  await deleteStreams(bus.nc);
  await dropSchemas(quiet);
  for (const stream of manifest.streams) {
    const { name } = stream.config;
    tell(`stream ${name}: ${stream.state.messages} messages`);
    await putSnapshot(bus.nc, stream, join(folder, stream.file), progress(tell, `stream ${name}`));
  }
  const streams = await assertWhole(quiet, manifest);
  await dropEarlyAnchors(quiet.bus);
  tell('provisioning bus and database');
  const target = { nats_url: quiet.nats_url, admin_url: adminUrl };
  await provision({ ...target, replicas: options.replicas, calls_days: options.callsDays }, keys, services);
  await withDatabase(adminUrl, async (client) => {
    for (const table of manifest.tables) {
      tell(`table ${table.schema}.${table.table}: ${table.rows} rows`);
      await loadTable(client, table, join(folder, table.file));
    }
  });
  noteErased(home, erased);
  // What was erased before it is not in it; a workspace that came later under the same id stays.
  const workspaces = erased.filter((one) => one.at > manifest.started_at).map(({ id }) => id);
  const commits = await eraseFromLog(quiet, services, workspaces);
  if (workspaces.length > 0) tell(`erased again: ${workspaces.join(', ')} (${commits} commits)`);
  const views = await rebuildAll(quiet, services);
  await stepOverGaps(quiet);
  return {
    streams,
    tables: manifest.tables.map(({ schema, table, rows }) => ({ table: `${schema}.${table}`, rows })),
    views,
    erased: { workspaces, commits },
  };
}

/** What a newer release wrote may have another meaning than its columns say. */
function assertReadable(manifest: Manifest, { services }: Quiet): void {
  const known = migrationsOf(services, new Set(services.map(({ name }) => schemaOf(name))));
  for (const [schema, migrations] of Object.entries(manifest.migrations)) {
    const foreign = migrations.filter((migration) => known[schema]?.includes(migration) !== true);
    if (foreign.length === 0) continue;
    throw new CliError(
      `the backup was made by a newer release (${manifest.version}: ${schema} has ${foreign.join(', ')}); restore it with that one`,
    );
  }
}

async function assertRoom({ bus, adminUrl, services }: Quiet, replace: boolean): Promise<void> {
  const { logged } = await streamsOn(bus.nc);
  const rows = await withDatabase(adminUrl, (client) => countKept(client, keptTables(services)));
  if (replace || logged + rows === 0) return;
  throw new CliError(
    `there is data already: ${logged} messages in the log, ${rows} rows that are not of it; ` +
      'restore into an empty home, or delete it with --replace',
    EXIT.usage,
  );
}

/** Keys of the backup, with the passwords that bus and database of this home have. */
async function putConfig({ folder, manifest, home }: PutBack, here: Secrets): Promise<Secrets> {
  const kept = readJson<Partial<Secrets>>(join(folder, 'config', 'secrets.json')) ?? {};
  const secrets: Secrets = { ...here, ...kept, bus: here.bus, database: here.database };
  writeJson(home.secrets, secrets);
  for (const { file } of manifest.files) {
    const name = basename(file);
    // What it may hold besides is nothing that a restore writes: the home's other files lead to its own servers.
    if (name === 'erased.json' || !CONFIG_FILES.includes(name)) continue;
    const to = join(dirname(home.secrets), name);
    writePrivate(to, '');
    await copyFile(join(folder, file), to);
  }
  return secrets;
}

async function dropSchemas({ adminUrl, services }: Quiet): Promise<void> {
  const schemas = services.map(({ name }) => pg.escapeIdentifier(schemaOf(name)));
  await withDatabase(adminUrl, (client) => client.query(`drop schema if exists ${schemas.join(', ')} cascade`));
}

async function assertWhole({ bus }: Quiet, manifest: Manifest): Promise<Restored['streams']> {
  const jsm = await jetstreamManager(bus.nc);
  const found: Restored['streams'] = [];
  for (const { config, state: wanted } of manifest.streams) {
    const { state } = await jsm.streams.info(config.name);
    // The server counts, and copies a moment later: under load a snapshot holds more than it says, never less. What is kept for
    // some time only may have become too old since.
    const whole = Boolean(config['max_age']) || state.messages >= wanted.messages;
    if (!whole || state.last_seq < wanted.last_seq) {
      throw new CliError(
        `stream ${config.name} has ${state.messages} messages up to ${state.last_seq}, the backup ${wanted.messages} up to ` +
          `${wanted.last_seq}; restore again with --replace`,
      );
    }
    found.push({ stream: config.name, messages: state.messages, last_seq: state.last_seq });
  }
  return found;
}

/**
 * A view that was made anew stands at the last message that there is for it, and its consumer may have been behind that: at one that is
 * erased. Nobody writes meanwhile, so every view has what the streams have, up to their ends.
 */
async function stepOverGaps({ bus, adminUrl, services }: Quiet): Promise<void> {
  const jsm = await jetstreamManager(bus.nc);
  for (const stream of [EVENTS_STREAM, CALLS_STREAM]) {
    const { state } = await jsm.streams.info(stream);
    await withDatabase(adminUrl, async (client) => {
      for (const { name, projections = [] } of services) {
        const views = projections.filter(({ subject, proof }) => proof === undefined && streamOf(subject) === stream);
        await client.query(
          `update ${pg.escapeIdentifier(schemaOf(name))}.projection_checkpoint set seq = greatest(seq, $1) where projection = any($2)`,
          [state.last_seq, views.map((view) => view.name)],
        );
      }
    });
  }
}
