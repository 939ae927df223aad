import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** What a sealed value is for; each purpose has a key of its own. */
export type SealPurpose = 'state' | 'cursor' | 'link' | 'result';

/** Whom and what a value is bound to: it opens for the same again and for nothing else. */
export interface SealContext {
  purpose: SealPurpose;
  /** Caller key. */
  caller: string;
  /** Protocol method. */
  method: string;
}

/** Why a value did not open; for the log, never for whoever sent it. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

const PURPOSES: readonly SealPurpose[] = ['state', 'cursor', 'link', 'result'];
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KID_BYTES = 4;
const SHAPE = /^v1\.([0-9a-f]{8})\.([A-Za-z0-9_-]+)$/;

type Subkeys = Readonly<Record<SealPurpose, Buffer>>;

/** The 32 bytes of a main key written in base64, or undefined when it is none. */
export function mainKey(base64: string): Buffer | undefined {
  const key = Buffer.from(base64, 'base64');
  return key.length === KEY_BYTES && key.toString('base64') === base64 ? key : undefined;
}

/**
 * Values that are kept or sent where others can read and change them: `v1.<kid>.` and base64url of IV, AES-256-GCM ciphertext
 * and tag. Every purpose has a subkey (HKDF-SHA-256); `kid` names the main key. Source: gateway, section 4.5; threat T15.
 */
export class Sealer {
  readonly #kid: string;
  readonly #current: Subkeys;
  readonly #known: ReadonlyMap<string, Subkeys>;

  /** Keys of 32 bytes; those of `old` open and never seal. */
  constructor(main: Uint8Array, old: readonly Uint8Array[] = []) {
    this.#kid = kidOf(main);
    this.#current = subkeysOf(main);
    this.#known = new Map([...old.map((key) => [kidOf(key), subkeysOf(key)] as const), [this.#kid, this.#current]]);
  }

  seal(context: SealContext, plain: Uint8Array): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#current[context.purpose], iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(boundTo(context));
    const sealed = Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    return `v1.${this.#kid}.${sealed.toString('base64url')}`;
  }

  /** Throws `SealError` for whatever was not sealed here for exactly this. */
  open(context: SealContext, text: string): Buffer {
    const [, kid = '', body = ''] = SHAPE.exec(text) ?? [];
    if (kid === '') throw new SealError('not a sealed value');
    const keys = this.#known.get(kid);
    if (keys === undefined) throw new SealError(`sealed with the unknown key ${kid}`);
    const sealed = Buffer.from(body, 'base64url');
    if (sealed.length < IV_BYTES + TAG_BYTES) throw new SealError('a sealed value that was cut off');
    const decipher = createDecipheriv('aes-256-gcm', keys[context.purpose], sealed.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(boundTo(context));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch (cause) {
      throw new SealError('changed, or sealed for another purpose, caller or method', { cause });
    }
  }
}

const boundTo = ({ purpose, caller, method }: SealContext): Buffer =>
  Buffer.from(JSON.stringify([purpose, caller, method]));

const derived = (main: Uint8Array, use: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', main, '', `cortex/${use}`, bytes));

const kidOf = (main: Uint8Array): string => derived(main, 'kid', KID_BYTES).toString('hex');

const subkeysOf = (main: Uint8Array): Subkeys =>
  Object.fromEntries(PURPOSES.map((purpose) => [purpose, derived(main, purpose, KEY_BYTES)])) as unknown as Subkeys;
