import { chmodSync, chownSync, lchownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { secretFolders, type SecretFolders } from '../deploy/secrets.js';
import { CliError, EXIT, messageOf } from '../exit.js';
import { homeOf, openHome, writePrivate } from '../home.js';
import { tell } from '../output.js';
import { ensureSecrets, rotatePasswords } from '../secrets.js';
import { runningState } from '../up/state.js';

interface Flags {
  home?: string;
  out?: string;
  owner?: string;
  with?: string;
  rotate?: boolean;
}

/**
 * `cortex secrets`: makes what is missing of the home's secrets, and a folder for each container that reads some. With `rotate`
 * the passwords of bus and database are new ones.
 */
export async function secrets(flags: Flags): Promise<void> {
  const owner = flags.owner === undefined ? undefined : userId(flags.owner);
  const home = homeOf(flags.home);
  openHome(home);
  const { out } = flags;
  if (out === undefined && !flags.rotate)
    throw new CliError('--out is missing; name the folder of the folders', EXIT.usage);
  // Its servers would go on with the old ones.
  if (flags.rotate && runningState(home))
    throw new CliError(`home ${home.dir} is running; end it first: cortex down`, EXIT.failed);
  const made = flags.rotate ? await rotatePasswords(home) : await ensureSecrets(home);
  if (out === undefined) return tell(`made new passwords in ${home.secrets}; they count from the next start`);
  const folders = merged(secretFolders(made), flags.with === undefined ? {} : given(flags.with));
  try {
    for (const [reader, files] of Object.entries(folders)) {
      const folder = join(out, reader);
      mkdirSync(folder, { recursive: true });
      // Entered by its reader; the files are what nobody else reads.
      chmodSync(folder, 0o755);
      for (const [name, text] of Object.entries(files)) {
        const file = join(folder, name);
        writePrivate(file, text);
        if (OF_ANOTHER_USER.includes(reader)) chmodSync(file, 0o444);
        if (owner !== undefined) chownSync(file, owner, owner);
      }
    }
    // Whoever runs the command line beside the services reads and writes the home.
    if (owner !== undefined) chownTree(home.dir, owner);
  } catch (error) {
    throw new CliError(`--out ${out} cannot be written (${messageOf(error)})`, EXIT.failed, { cause: error });
  }
  tell(`wrote the secrets of ${Object.keys(folders).join(', ')} to ${out}`);
}

/** Servers that run under a user of their own image; nobody else has their folder. */
const OF_ANOTHER_USER = ['postgres'];

type Given = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Secrets that nobody can make here, such as that of a client at the identity provider. */
function given(dir: string): Given {
  const names = (path: string) => readdirSync(path, { withFileTypes: true });
  const readers = names(dir).filter((entry) => entry.isDirectory());
  return Object.fromEntries(
    readers.map(({ name: reader }) => {
      const files = names(join(dir, reader)).filter((entry) => entry.isFile());
      return [
        reader,
        Object.fromEntries(files.map(({ name }) => [name, readFileSync(join(dir, reader, name), 'utf8')])),
      ];
    }),
  );
}

function merged(own: SecretFolders, more: Given): Given {
  const unknown = Object.keys(more).filter((reader) => !Object.hasOwn(own, reader));
  if (unknown.length > 0) {
    const known = Object.keys(own).join(', ');
    throw new CliError(`--with has a folder ${unknown.join(', ')}; use some of ${known}`, EXIT.usage);
  }
  return Object.fromEntries(Object.entries(own).map(([reader, files]) => [reader, { ...files, ...more[reader] }]));
}

function chownTree(dir: string, owner: number): void {
  for (const name of ['', ...readdirSync(dir, { recursive: true, encoding: 'utf8' })])
    lchownSync(join(dir, name), owner, owner);
}

function userId(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new CliError(`--owner is no user id: ${JSON.stringify(text)}; give a number`, EXIT.usage);
}
