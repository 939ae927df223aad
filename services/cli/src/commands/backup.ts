import { resolve } from 'node:path';
import { retentionDays } from '@cortex/contracts/retention';
import { withAdmin } from '../admin.js';
import { readErased } from '../backup/erased.js';
import { readBackup, type Manifest } from '../backup/manifest.js';
import { putBack } from '../backup/put-back.js';
import { takeBackup } from '../backup/take.js';
import { homeOf } from '../home.js';
import { megabytes, print, printJson, tell } from '../output.js';
import { loadDefinitions } from '../provision.js';
import { withServersAlone } from '../up/servers-alone.js';
import { copies } from './provision.js';

interface Flags {
  home?: string;
  json?: boolean;
}

/** `cortex backup <folder>`: of what runs, while it runs. */
export async function backup(folder: string, flags: Flags): Promise<void> {
  const home = homeOf(flags.home);
  const to = resolve(folder);
  const services = await loadDefinitions();
  const manifest = await withAdmin(home, ({ bus, adminUrl, secrets }) =>
    takeBackup({ home, bus, adminUrl, secrets, services, tell }, to),
  );
  if (flags.json) printJson({ folder: to, ...summaryOf(manifest) });
  else print(`${to}: ${wordsOf(manifest)}. It holds keys and personal data: keep it encrypted.`);
}

interface RestoreFlags extends Flags {
  check?: boolean;
  replace?: boolean;
  erased?: string;
  replicas?: string;
}

/** `cortex restore <folder>`: the place must be empty, or be given up. */
export async function restore(folder: string, flags: RestoreFlags): Promise<void> {
  const from = resolve(folder);
  const replicas = flags.replicas === undefined ? undefined : copies(flags.replicas);
  const erased = flags.erased === undefined ? [] : readErased(flags.erased);
  const manifest = await readBackup(from, (file) => tell(`checking ${file}`));
  if (flags.check) {
    if (flags.json) return printJson({ folder: from, whole: true, ...summaryOf(manifest) });
    return print(`${from} is whole: ${wordsOf(manifest)}, of ${manifest.started_at}`);
  }
  const home = homeOf(flags.home);
  const callsDays = retentionDays(process.env['CORTEX_AUDIT_RETENTION_DAYS']);
  const restored = await withServersAlone(home, (quiet) =>
    putBack(quiet, {
      folder: from,
      manifest,
      home,
      replace: flags.replace === true,
      erased,
      replicas,
      callsDays,
      tell,
    }),
  );
  if (flags.json) return printJson({ restored: true, ...restored });
  print(`restored ${wordsOf(manifest)}, of ${manifest.started_at}; ${restored.views.length} views made anew`);
}

const summaryOf = ({ started_at, ended_at, version, streams, tables }: Manifest) => ({
  started_at,
  ended_at,
  version,
  bytes: streams.reduce((sum, { size }) => sum + size, 0) + tables.reduce((sum, { size }) => sum + size, 0),
  streams: streams.map(({ config, state }) => ({ stream: config.name, messages: state.messages })),
  tables: tables.map(({ schema, table, rows }) => ({ table: `${schema}.${table}`, rows })),
});

function wordsOf(manifest: Manifest): string {
  const { streams, tables, bytes } = summaryOf(manifest);
  const messages = streams.reduce((sum, stream) => sum + stream.messages, 0);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return `${messages} messages of ${streams.length} streams and ${rows} rows of ${tables.length} tables (${megabytes(bytes)})`;
}
