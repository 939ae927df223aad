import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';
import { failedPrecondition } from '@cortex/contracts';
import { CONFIG, HOST, type ServiceHost } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config.js';

/** An Ed25519 public key as a key set holds it. */
export interface PublicJwk {
  kty: 'OKP';
  crv: 'Ed25519';
  /** 32 bytes, base64url. */
  x: string;
  /** RFC 7638 thumbprint. */
  kid: string;
  alg: 'EdDSA';
  use: 'sig';
}

/** The key that signs session tokens, and the public keys by which they are known: one more, or two, while it changes. */
@Injectable()
export class SessionKeys {
  readonly #key: KeyObject;
  readonly #own: PublicJwk;
  /** The signing one first. */
  readonly all: readonly PublicJwk[];

  constructor(@Inject(CONFIG) config: Config, @Inject(HOST) host: ServiceHost) {
    const pem = config.CORTEX_SESSION_KEY ?? host.secrets?.session_key;
    if (pem === undefined) {
      const fix = 'set it to a PKCS8 PEM of an Ed25519 key (openssl genpkey -algorithm ed25519)';
      throw failedPrecondition('CORTEX_SESSION_KEY', 'is missing', fix);
    }
    this.#key = signingKey(pem);
    this.#own = jwkOf(createPublicKey(this.#key).export({ format: 'jwk' }).x!);
    const others = config.CORTEX_SESSION_KEYS_OLD.map(jwkOf).filter(({ kid }) => kid !== this.#own.kid);
    this.all = [this.#own, ...others];
  }

  /** A JWS of these claims. */
  sign(claims: Record<string, unknown>): string {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const body = `${encode({ alg: 'EdDSA', typ: 'at+jwt', kid: this.#own.kid })}.${encode(claims)}`;
    return `${body}.${sign(null, Buffer.from(body), this.#key).toString('base64url')}`;
  }
}

function signingKey(pem: string): KeyObject {
  let key;
  try {
    key = createPrivateKey(pem.replaceAll('\\n', '\n'));
  } catch {
    key = null; // the reason could quote the key
  }
  if (key?.asymmetricKeyType === 'ed25519') return key;
  const fix = 'give a PKCS8 PEM (openssl genpkey -algorithm ed25519)';
  throw failedPrecondition('CORTEX_SESSION_KEY', 'is no Ed25519 key', fix);
}

function jwkOf(x: string): PublicJwk {
  const thumbprint = JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x });
  const kid = createHash('sha256').update(thumbprint).digest('base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
}
