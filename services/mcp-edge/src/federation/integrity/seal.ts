import { createPrivateKey, createPublicKey, type KeyObject, sign as signBytes, verify } from 'node:crypto';
import { failedPrecondition } from '@cortex/contracts';
import type { ItemKind, Seal } from '@cortex/contracts/definition';
import type { Approved, CatalogState, Item } from './catalog-state.js';
import { canonical, digestOf } from './fingerprint.js';

/** Who can approve: anyone who can write to the log, this gateway, or whoever holds the private key elsewhere. */
export type Signing = 'none' | 'self-signed' | 'operator';

export interface Keys {
  readonly signing: Signing;
  readonly publicKey?: KeyObject;
  readonly privateKey?: KeyObject;
}

/** Of the two variables. With only a private key its public half is derived. Errors: `failed_precondition` naming the variable. */
export function keysOf(privatePem: string | undefined, publicPem: string | undefined): Keys {
  const privateKey =
    privatePem === undefined ? undefined : keyOf('CORTEX_BASELINE_PRIVATE_KEY', privatePem, createPrivateKey);
  const given = publicPem === undefined ? undefined : keyOf('CORTEX_BASELINE_PUBLIC_KEY', publicPem, createPublicKey);
  const derived = privateKey && createPublicKey(privateKey);
  if (derived && given && !given.equals(derived))
    throw failedPrecondition(
      'CORTEX_BASELINE_PUBLIC_KEY',
      'is of another pair than CORTEX_BASELINE_PRIVATE_KEY',
      'leave it out, or set both of one pair',
    );
  const publicKey = given ?? derived;
  if (publicKey === undefined) return { signing: 'none' };
  return privateKey ? { signing: 'self-signed', publicKey, privateKey } : { signing: 'operator', publicKey };
}

/** A PEM in one line with `\n` written out is accepted. Errors: `failed_precondition`. */
export function keyOf(name: string, pem: string, read: (pem: string) => KeyObject): KeyObject {
  let key: KeyObject | undefined;
  try {
    key = read(pem.replaceAll('\\n', '\n'));
  } catch {
    // Said below.
  }
  if (key?.asymmetricKeyType === 'ed25519') return key;
  throw failedPrecondition(name, 'is no Ed25519 key in PEM', 'make a pair with cortex baseline keygen');
}

export const pemOf = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

/** What a seal says: this definition of this item was approved at that time. */
const statement = (backend: string, kind: ItemKind, name: string, digest: string, at: string): Buffer =>
  Buffer.from(canonical(JSON.stringify({ at, backend, digest, kind, name })));
/** And: the approvals of this backend began anew at that time. */
const restart = (backend: string, at: string): Buffer =>
  Buffer.from(canonical(JSON.stringify({ at, backend, restart: true })));

const made = (bytes: Buffer, at: string, key: KeyObject): Seal => ({
  at,
  value: signBytes(null, bytes, key).toString('base64'),
});
export const sealOf = (
  key: KeyObject,
  backend: string,
  item: { kind: ItemKind; name: string },
  digest: string,
  at: string,
): Seal => made(statement(backend, item.kind, item.name, digest, at), at, key);
export const restartSeal = (key: KeyObject, backend: string, at: string): Seal => made(restart(backend, at), at, key);

export const isSealed = (
  key: KeyObject,
  backend: string,
  { kind, name }: { kind: ItemKind; name: string },
  digest: string,
  { at, value }: Seal,
): boolean => verify(null, statement(backend, kind, name, digest, at), key, Buffer.from(value, 'base64'));

export const NO_KEY = 'no key is configured';

/** Those whose text and seal were checked; they are frozen by being parts of a state. */
const checked = new WeakSet<Approved>();

/**
 * Why what the log says was approved cannot be believed; undefined when it can. A definition that does not have its digest, an approval
 * without the seal that a key asks for, one of another key, and a seal that is older than one that was there before.
 */
export function distrust(backend: string, { items, restarted }: CatalogState, keys: Keys): string | undefined {
  for (const item of Object.values(items)) {
    if (item.approved === null || checked.has(item.approved)) continue;
    const why = distrustItem(backend, item, item.approved, keys);
    if (why !== undefined) return `${item.kind} ${JSON.stringify(item.name)} ${why}`;
    checked.add(item.approved);
  }
  const { publicKey } = keys;
  if (restarted === null || keys.signing !== 'self-signed' || publicKey === undefined) return undefined;
  const { seal } = restarted;
  const proven = seal !== null && verify(null, restart(backend, seal.at), publicKey, Buffer.from(seal.value, 'base64'));
  return proven ? undefined : 'the start over is not signed with the configured key';
}

function distrustItem(backend: string, item: Item, approved: Approved, { publicKey }: Keys): string | undefined {
  const { digest, fields, seal } = approved;
  if (digestOf(item.kind, fields) !== digest) return 'has another text than the digest that was approved';
  if (publicKey === undefined) return seal === undefined ? undefined : `was approved with a signature, and ${NO_KEY}`;
  if (seal === undefined) return 'was approved without a signature, and a key is configured';
  if (!isSealed(publicKey, backend, item, digest, seal)) return 'was not approved with the configured key';
  return seal.at < item.sealed ? 'has an approval that a newer one had replaced' : undefined;
}
