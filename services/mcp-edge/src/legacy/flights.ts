import type { RpcId } from '../mcp/envelope.js';
import { Cancellation } from '../seams.js';

/** The id `1` and the id `"1"` are two. */
const keyOf = (id: RpcId): string => `${typeof id}:${id}`;

/** Requests that run now, by session and id: what a cancel from another connection looks for. */
export class Flights {
  readonly #sessions = new Map<string, Map<string, Cancellation>>();

  /** Null when the id is in flight in this session. */
  begin(session: string, id: RpcId): Cancellation | null {
    let flights = this.#sessions.get(session);
    if (flights?.has(keyOf(id))) return null;
    if (flights === undefined) this.#sessions.set(session, (flights = new Map()));
    const cancellation = new Cancellation();
    flights.set(keyOf(id), cancellation);
    return cancellation;
  }

  end(session: string, id: RpcId): void {
    const flights = this.#sessions.get(session);
    flights?.delete(keyOf(id));
    if (flights?.size === 0) this.#sessions.delete(session);
  }

  cancel(session: string, id: RpcId): void {
    this.#sessions.get(session)?.get(keyOf(id))?.cancel();
  }

  busy(session: string): boolean {
    return this.#sessions.has(session);
  }
}
