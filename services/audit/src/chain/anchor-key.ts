import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import { failedPrecondition } from '@cortex/contracts';
import { anchorText, type Anchor } from '@cortex/contracts/chain';

const NAME = 'CORTEX_AUDIT_ANCHOR_KEY';
const FIX = 'give a PKCS8 PEM of an Ed25519 key (openssl genpkey -algorithm ed25519)';

/** The key that signs anchors; no other service holds it. Errors: failed_precondition for a text that is no such key. */
export class AnchorKey {
  readonly #key: KeyObject;
  /** 32 bytes, base64url. */
  readonly publicKey: string;

  constructor(pem: string | undefined) {
    if (pem === undefined) throw failedPrecondition(NAME, 'is missing', FIX);
    this.#key = signingKey(pem);
    this.publicKey = createPublicKey(this.#key).export({ format: 'jwk' }).x ?? '';
  }

  sign(point: Pick<Anchor, 'at' | 'seq' | 'hash'>): Anchor {
    const signature = sign(null, Buffer.from(anchorText(point)), this.#key).toString('base64url');
    return { ...point, key: this.publicKey, signature };
  }
}

function signingKey(pem: string): KeyObject {
  let key: KeyObject | undefined;
  try {
    key = createPrivateKey(pem.replaceAll('\\n', '\n'));
  } catch {
    // The reason could quote the key.
  }
  if (key?.asymmetricKeyType === 'ed25519') return key;
  throw failedPrecondition(NAME, 'is no Ed25519 key', FIX);
}

/** True when one of these public keys signed it. */
export function isSignedBy(anchor: Anchor, publicKeys: ReadonlySet<string>): boolean {
  if (!publicKeys.has(anchor.key)) return false;
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: anchor.key }, format: 'jwk' });
    return verify(null, Buffer.from(anchorText(anchor)), key, Buffer.from(anchor.signature, 'base64url'));
  } catch {
    return false;
  }
}
