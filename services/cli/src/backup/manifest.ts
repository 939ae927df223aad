import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { CliError, EXIT } from '../exit.js';
import { readJson, writeJson } from '../home.js';

const Digest = z.string().regex(/^[0-9a-f]{64}$/);
/** Relative to the backup's folder, and below it. */
const Path = z.string().regex(/^[a-z]+\/[A-Za-z0-9_.-]+$/);
const Stored = z.object({ file: Path, size: z.int().nonnegative(), sha256: Digest });

const Manifest = z.object({
  format: z.literal(1),
  /** Of the program that made it. */
  version: z.string(),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime(),
  streams: z.array(
    Stored.extend({
      config: z.looseObject({ name: z.string() }),
      state: z.object({ messages: z.int(), bytes: z.int(), first_seq: z.int(), last_seq: z.int() }),
    }),
  ),
  tables: z.array(
    Stored.extend({
      schema: z.string(),
      table: z.string(),
      rows: z.int().nonnegative(),
      /** Of the proof that writes the table: how far it had read the log. */
      checkpoint: z.object({ projection: z.string(), seq: z.string() }).optional(),
    }),
  ),
  /** Of the home: `config/…`. */
  files: z.array(Stored),
  /** Per schema of `tables`, the migrations that had made them. */
  migrations: z.record(z.string(), z.array(z.string())),
});

/** What is in the folder of a backup. Written last: a folder without it is a backup that broke off. */
export type Manifest = z.infer<typeof Manifest>;
export type StoredFile = z.infer<typeof Stored>;

const fileOf = (folder: string): string => join(folder, 'manifest.json');

export const writeManifest = (folder: string, manifest: Manifest): void => writeJson(fileOf(folder), manifest);

/** Reads the manifest and every byte that it names: a backup is whole, or it is refused before anything is touched. */
export async function readBackup(folder: string, onFile: (file: string) => void = () => {}): Promise<Manifest> {
  if (!existsSync(fileOf(folder))) {
    throw new CliError(
      `${folder} is no whole backup: it has no manifest.json; give the folder of a backup`,
      EXIT.usage,
    );
  }
  const parsed = Manifest.safeParse(readJson(fileOf(folder)));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new CliError(`${fileOf(folder)} is not of this release: ${issue?.path.join('.')} ${issue?.message}`);
  }
  const manifest = parsed.data;
  for (const stored of [...manifest.streams, ...manifest.tables, ...manifest.files]) {
    onFile(stored.file);
    const found = await digestOf(folder, stored.file);
    if (found.sha256 === stored.sha256) continue;
    throw new CliError(
      `${stored.file} of the backup is not what was written: ${found.size} bytes instead of ${stored.size}, or other ones; take another backup`,
    );
  }
  return manifest;
}

/** Size and SHA-256 of a file of the backup. */
export async function digestOf(folder: string, file: string): Promise<StoredFile> {
  const path = join(folder, file);
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
    return { file, size: (await stat(path)).size, sha256: hash.digest('hex') };
  } catch (cause) {
    throw new CliError(`${file} of the backup cannot be read (${(cause as Error).message}); take another backup`, 1, {
      cause,
    });
  }
}
