import { chmod, copyFile, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Bus } from '@cortex/bus';
import { schemaOf } from '@cortex/contracts/services';
import type { Provisionable } from '@cortex/eventstore';
import type { Secrets } from '@cortex/service-kit';
import { deployed } from '../deploy/services.js';
import { CliError, EXIT } from '../exit.js';
import { writeJson, type Home } from '../home.js';
import { version } from '../version.js';
import { withDatabase } from './database.js';
import { dumpTable, keptTables, type KeptTable } from './kept-tables.js';
import { BACKED_UP } from './log-streams.js';
import { digestOf, writeManifest, type Manifest, type StoredFile } from './manifest.js';
import { takeSnapshot } from './stream-snapshot.js';

/** Where a backup is taken of. */
export interface Source {
  home: Home;
  bus: Bus;
  adminUrl: string;
  secrets: Secrets;
  services: readonly Provisionable[];
  tell: (text: string) => void;
}

const TOLD_EVERY_MS = 2_000;

/** Of the home's `config`, what is neither made anew nor of this machine alone: what was decided here, and files of operators. */
export const CONFIG_FILES: readonly string[] = [
  'logins.json',
  'machines.json',
  'tool-baseline.json',
  'erased.json',
  ...deployed.flatMap(({ files = [] }) => files),
];

/**
 * Writes a whole backup into an empty folder, while the services go on. Proofs are read before the records that they prove, since one
 * that had read more would find records missing; people after the commits that name them.
 */
export async function takeBackup(source: Source, folder: string): Promise<Manifest> {
  const { bus, services, tell } = source;
  await makeFolders(folder);
  const started_at = new Date().toISOString();
  return withDatabase(source.adminUrl, async (client) => {
    const kept = keptTables(services);
    const tables: Manifest['tables'] = [];
    const dump = async (some: readonly KeptTable[]): Promise<void> => {
      for (const one of some) {
        const file = `tables/${one.schema}.${one.table}.jsonl`;
        tell(`table ${one.schema}.${one.table}`);
        const dumped = await dumpTable(client, one, join(folder, file));
        tables.push({ ...dumped, ...(await digestOf(folder, file)) });
      }
    };
    await dump(kept.filter(({ projection }) => projection !== undefined));
    const streams: Manifest['streams'] = [];
    for (const stream of BACKED_UP) {
      const file = `streams/${stream}`;
      const snapshot = await takeSnapshot(bus.nc, stream, join(folder, file), progress(tell, `stream ${stream}`));
      tell(`stream ${stream}: ${snapshot.state.messages} messages`);
      streams.push({ file, ...snapshot });
    }
    await dump(kept.filter(({ projection }) => projection === undefined));
    const manifest: Manifest = {
      format: 1,
      version,
      started_at,
      ended_at: new Date().toISOString(),
      streams,
      tables,
      files: await copyConfig(source, folder),
      migrations: migrationsOf(services, new Set(kept.map(({ schema }) => schema))),
    };
    writeManifest(folder, manifest);
    return manifest;
  });
}

/** Names of the migrations per schema; what a newer release made is known by them. */
export function migrationsOf(
  services: readonly Provisionable[],
  schemas: ReadonlySet<string>,
): Record<string, string[]> {
  const of = services.filter(({ name }) => schemas.has(schemaOf(name)));
  return Object.fromEntries(
    of.map(({ name, migrations = {} }) => [schemaOf(name), Object.keys(migrations).toSorted()]),
  );
}

/** How many bytes are done, now and then. */
export function progress(tell: (text: string) => void, what: string): (bytes: number) => void {
  let told = Date.now();
  return (bytes) => {
    if (Date.now() - told < TOLD_EVERY_MS) return;
    told = Date.now();
    tell(`${what}: ${(bytes / 1048576).toFixed(0)} MB`);
  };
}

async function makeFolders(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await readdir(folder)).length > 0) {
    throw new CliError(`${folder} is not empty; give a new folder for each backup`, EXIT.usage);
  }
  await chmod(folder, 0o700);
  for (const part of ['streams', 'tables', 'config']) await mkdir(join(folder, part), { mode: 0o700 });
}

/** Keys go along, since sealed and signed things are read by them. Passwords do not: every bus and database has its own. */
async function copyConfig({ home, secrets }: Source, folder: string): Promise<StoredFile[]> {
  const { bus: _bus, database: _database, ...keys } = secrets;
  writeJson(join(folder, 'config', 'secrets.json'), keys);
  const copied = ['config/secrets.json'];
  for (const name of CONFIG_FILES) {
    const file = `config/${name}`;
    try {
      await copyFile(join(dirname(home.secrets), name), join(folder, file));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw error;
    }
    await chmod(join(folder, file), 0o600);
    copied.push(file);
  }
  return Promise.all(copied.map((file) => digestOf(folder, file)));
}
