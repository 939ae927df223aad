import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { failedPrecondition } from '@cortex/contracts';
import { challengeBytes } from '@cortex/contracts/device-wire';

/** The key by which devices know this server again. */
export interface ServerKey {
  /** Ed25519, the 32 raw bytes as base64url. */
  readonly publicKey: string;
  /** base64url. */
  challenge(clientNonce: string, device: string): string;
}

export function serverKey(pem: string): ServerKey {
  let key;
  try {
    key = createPrivateKey(pem.replaceAll('\\n', '\n'));
  } catch {
    key = null; // the reason could quote the key
  }
  if (key?.asymmetricKeyType !== 'ed25519') {
    throw failedPrecondition(
      'CORTEX_DEVICE_SERVER_KEY',
      'is no Ed25519 key',
      'give a PKCS8 PEM (openssl genpkey -algorithm ed25519)',
    );
  }
  const publicKey = createPublicKey(key).export({ format: 'jwk' }).x!;
  return {
    publicKey,
    challenge: (nonce, device) => sign(null, challengeBytes(nonce, device), key).toString('base64url'),
  };
}

/** A device's key as it is recorded; null when the text is no Ed25519 key. */
export function deviceKey(text: unknown): { public_key: string; key_sha256: string } | null {
  if (typeof text !== 'string' || !/^[A-Za-z0-9_-]{43}$/.test(text)) return null;
  const raw = Buffer.from(text, 'base64url');
  if (raw.length !== 32) return null;
  return { public_key: raw.toString('base64url'), key_sha256: createHash('sha256').update(raw).digest('hex') };
}
