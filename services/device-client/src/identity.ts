import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { failedPrecondition } from '@cortex/contracts';

/** The key that proves this machine's name, and the server's key that it once joined. */
export interface Identity {
  /** Ed25519, the 32 raw bytes as base64url. */
  readonly publicKey: string;
  /** base64url. */
  sign(bytes: Uint8Array): string;
  /** The server's key as it was at the first join; null before. */
  pinned(): string | null;
  pin(serverKey: string): void;
}

const KEY_FILE = 'cortex-client.key';
const PIN_FILE = 'cortex-client.server';

/** Opens the identity in a folder (`~/.cortex/config`); makes a key when there is none. */
export function openIdentity(folder: string): Identity {
  const file = join(folder, KEY_FILE);
  const pinFile = join(folder, PIN_FILE);
  const key = readKey(file) ?? makeKey(file);
  return {
    publicKey: createPublicKey(key).export({ format: 'jwk' }).x!,
    sign: (bytes) => sign(null, bytes, key).toString('base64url'),
    pinned: () => readIfThere(pinFile)?.trim() || null,
    pin: (serverKey) => replaceFile(pinFile, `${serverKey}\n`),
  };
}

function readKey(file: string): KeyObject | null {
  const pem = readIfThere(file);
  if (pem === null) return null;
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
    throw failedPrecondition(
      'key file',
      `${file} can be read by others`,
      `run chmod 600 ${file}, or remove it and join again`,
    );
  }
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw failedPrecondition('key file', `${file} holds no private key`, 'remove it and join again', { cause });
  }
}

function makeKey(file: string): KeyObject {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(fresh, pem, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(fresh, file); // fails when another client made one meanwhile: then that one counts
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(fresh);
  }
  return readKey(file)!;
}

function replaceFile(file: string, text: string): void {
  const fresh = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(fresh, text, { mode: 0o600, flag: 'wx' });
  renameSync(fresh, file);
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
