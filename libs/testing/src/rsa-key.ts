import { generateKeyPair, type JsonWebKey } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

let given = 0;

/**
 * An RSA key of 2048 bits as a private JWK; no two that one test file is given are the same. They are made once per run, since each
 * takes a core a tenth of a second and every service under test starts with one.
 */
export async function rsaKey(): Promise<JsonWebKey> {
  const run = process.env['CORTEX_TEST_RUN'];
  if (!run) return fresh();
  const file = join(run, `rsa-${given++}.json`);
  try {
    return JSON.parse(await readFile(file, 'utf8')) as JsonWebKey;
  } catch {
    // nobody has made it yet
  }
  const key = await fresh();
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, JSON.stringify(key), { mode: 0o600 });
  await rename(draft, file);
  return key;
}

const fresh = async (): Promise<JsonWebKey> =>
  (await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })).privateKey.export({ format: 'jwk' });
