import type { RpcId } from './message.js';

/** A request of the client that has no answer yet. */
export class Flight {
  readonly #abort = new AbortController();
  /** True once its answer was written, or none is wanted any more. */
  settled = false;

  readonly method: string;
  /** Of the stateless era. */
  readonly modern: boolean;

  constructor(
    readonly id: RpcId,
    { method, modern }: Pick<Flight, 'method' | 'modern'>,
  ) {
    this.method = method;
    this.modern = modern;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Lets the connection go. */
  abort(): void {
    this.settled = true;
    this.#abort.abort();
  }
}

/** Requests under way by their ids; `1` and `"1"` are two. */
export class Flights {
  readonly #byId = new Map<RpcId, Flight>();
  readonly #work = new Set<Promise<void>>();

  begin(id: RpcId, what: Pick<Flight, 'method' | 'modern'>): Flight {
    const flight = new Flight(id, what);
    this.#byId.set(id, flight);
    return flight;
  }

  find(id: unknown): Flight | undefined {
    return this.#byId.get(id as RpcId);
  }

  /** Work that the end of the bridge waits for. It never rejects. */
  follow(work: Promise<void>, flight?: Flight): void {
    const whole = work.finally(() => {
      this.#work.delete(whole);
      // Another request may have taken the id over meanwhile.
      if (flight !== undefined && this.#byId.get(flight.id) === flight) this.#byId.delete(flight.id);
    });
    this.#work.add(whole);
  }

  /** Resolves when nothing is under way. */
  async landed(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  abort(which: (flight: Flight) => boolean = () => true): void {
    for (const flight of this.#byId.values()) if (which(flight)) flight.abort();
  }
}
