import type { Json } from './message.js';

/** What a client has set in its session: told again where the session had to be made anew. */
export class Remembered {
  #level: string | undefined;
  readonly #subscribed = new Map<unknown, string>();

  /** A request that the gateway has granted. */
  note(method: string, params: Json, text: string): void {
    if (method === 'logging/setLevel') this.#level = text;
    if (method === 'resources/subscribe') this.#subscribed.set(params['uri'], text);
    if (method === 'resources/unsubscribe') this.#subscribed.delete(params['uri']);
  }

  texts(): string[] {
    return [...(this.#level === undefined ? [] : [this.#level]), ...this.#subscribed.values()];
  }

  clear(): void {
    this.#level = undefined;
    this.#subscribed.clear();
  }
}
