import { errors, type KoaContextWithOIDC } from 'oidc-provider';

interface Renewal {
  /** What was answered; null: nothing that a client could use. */
  answer: Promise<Record<string, unknown> | null>;
  settle(answer: Record<string, unknown> | null): void;
  until: number;
}

/** Long enough for a client whose processes renew at once, or that lost the answer. */
const GRACE_MS = 10_000;

/**
 * A refresh token that comes twice within seconds gets the same successor twice, and its login goes on. It ends if the
 * token comes later, or after the successor was used: then there are two who hold it.
 */
export class RefreshGrace {
  readonly #renewals = new Map<string, Renewal>();
  /** From a successor to the key of the renewal that it came from. */
  readonly #origins = new Map<string, string>();
  readonly #mine = new WeakMap<object, Renewal>();
  readonly #repeats = new WeakMap<object, Record<string, unknown>>();

  constructor(private readonly now: () => number = Date.now) {}

  /** Around every request for tokens. */
  readonly around = async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    let answer: Record<string, unknown> | null = null;
    try {
      await next();
      const repeat = this.#repeats.get(ctx);
      if (repeat !== undefined) {
        ctx.status = 200;
        ctx.body = repeat;
      }
      if (ctx.status === 200) answer = ctx.body as Record<string, unknown>;
    } finally {
      const renewal = this.#mine.get(ctx);
      renewal?.settle(answer);
    }
  };

  /**
   * Before the library looks whether the token was used, and after it knows client and login. Throws when there is an
   * answer already, which `around` then gives.
   */
  async check(ctx: KoaContextWithOIDC, token: string): Promise<void> {
    this.#forgetOld();
    const origin = this.#origins.get(token);
    if (origin !== undefined) this.#forget(token, origin);
    const { scope = null, resource = null } = ctx.oidc.params ?? {};
    const key = JSON.stringify([token, scope, resource]);
    // One at a time: who comes while another is answered waits, and begins itself when that one was refused.
    for (let earlier = this.#renewals.get(key); earlier !== undefined; earlier = this.#renewals.get(key)) {
      const answer = await earlier.answer;
      if (answer === null) continue;
      this.#repeats.set(ctx, answer);
      throw new errors.InvalidGrant('refresh token was answered a moment ago');
    }
    this.#begin(ctx, key);
  }

  #begin(ctx: KoaContextWithOIDC, key: string): void {
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown> | null>();
    const settle = (answer: Record<string, unknown> | null): void => {
      if (answer === null) this.#renewals.delete(key);
      else this.#origins.set(String(answer['refresh_token']), key);
      resolve(answer);
    };
    const renewal = { answer: promise, settle, until: this.now() + GRACE_MS };
    this.#renewals.set(key, renewal);
    this.#mine.set(ctx, renewal);
  }

  #forget(successor: string, key: string): void {
    this.#origins.delete(successor);
    this.#renewals.delete(key);
  }

  #forgetOld(): void {
    for (const [successor, key] of this.#origins) {
      if ((this.#renewals.get(key)?.until ?? 0) <= this.now()) this.#forget(successor, key);
    }
  }
}
