import { setTimeout as pause } from 'node:timers/promises';
import { CliError, messageOf } from '../exit.js';
import { Flights, type Flight } from './flights.js';
import { LegacyLane } from './legacy-lane.js';
import { CODE, errorLine, oneLine, readMessage, type ClientMessage } from './message.js';
import { LISTEN, ModernLane } from './modern-lane.js';
import { parse, refusal, wholeOf } from './relay.js';
import type { Upstream } from './upstream.js';

/** A body that a gateway takes, unless it was told otherwise. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

export interface BridgeOptions {
  upstream: Upstream;
  /** Takes one message for the client, without a line break. */
  write: (line: string) => void;
  /** For a person who looks at stderr. */
  tell: (text: string) => void;
}

/**
 * Relays JSON-RPC between the lines of a client and the HTTP endpoint of a gateway, in both eras at once: which one a message belongs to, it
 * says itself. Messages go through as they were written. Every request gets one answer, whatever becomes of the gateway.
 */
export class Bridge {
  readonly #flights = new Flights();
  readonly #modern: ModernLane;
  readonly #legacy: LegacyLane;
  /** Revision of the last request of the stateless era, for notifications, which name none. */
  #version: string | undefined;

  constructor(private readonly options: BridgeOptions) {
    const write = (json: string) => this.#write(json);
    this.#modern = new ModernLane(options.upstream, write);
    this.#legacy = new LegacyLane(options.upstream, write, options.tell);
  }

  /** One line of the client. */
  receive(line: Uint8Array): void {
    const text = Buffer.from(line).toString('utf8').trim();
    if (text === '') return;
    const value = parse(text);
    if (value === undefined) return this.#write(errorLine(undefined, CODE.parse, 'The line is no JSON'));
    const message = readMessage(value);
    switch (message.kind) {
      case 'invalid':
        return this.#write(errorLine(message.id, CODE.invalidRequest, message.problem));
      case 'request':
        return this.#request(message, text);
      case 'notification':
        return this.#notification(message, text);
      case 'response':
        return this.#quietly(this.#legacy.response(text));
      case 'batch': {
        const flights = message.ids.map((id) => this.#flights.begin(id, { method: 'batch', modern: false }));
        const work = this.#legacy.batch(text, flights);
        for (const flight of flights) this.#follow(flight, work);
        if (flights.length === 0) this.#quietly(work);
      }
    }
  }

  /** A line over `MAX_LINE_BYTES`, of which nothing was kept. Its id is not known. */
  refuseLong(): void {
    const problem = `The line has more than ${MAX_LINE_BYTES} bytes; send less, the gateway takes no more`;
    this.#write(errorLine(undefined, CODE.invalidRequest, problem));
  }

  #request(request: Extract<ClientMessage, { kind: 'request' }>, text: string): void {
    const { id, method, params, version } = request;
    const flight = this.#flights.begin(id, { method, modern: version !== undefined });
    if (version !== undefined) {
      this.#version = version;
      this.#follow(flight, this.#modern.request(request, text, version, flight));
    } else if (method === 'initialize') this.#follow(flight, this.#legacy.initialize(text, flight));
    else this.#follow(flight, this.#legacy.request(method, params, text, flight));
  }

  #notification({ method, params, version }: Extract<ClientMessage, { kind: 'notification' }>, text: string): void {
    const flight = method === 'notifications/cancelled' ? this.#flights.find(params['requestId']) : undefined;
    // In that era the end of the connection is what cancels.
    if (flight?.modern) return flight.abort();
    if (flight !== undefined) flight.settled = true;
    const modern = version ?? (this.#legacy.begun ? undefined : this.#version);
    if (modern === undefined) return this.#quietly(this.#legacy.notification(method, text));
    // A request that is over already.
    if (method === 'notifications/cancelled') return;
    this.#quietly(this.#post(method, text, modern));
  }

  async #post(method: string, text: string, version: string): Promise<void> {
    const answer = await this.#modern.notification(method, text, version);
    const body = await wholeOf(answer);
    if (answer.status >= 300) throw refusal(answer, body);
  }

  /** Whatever the work came to, the client is not left without an answer. */
  #follow(flight: Flight, work: Promise<void>): void {
    const whole = async (): Promise<void> => {
      let problem = 'the gateway ended its answer without one';
      try {
        await work;
      } catch (error) {
        problem = error instanceof CliError ? error.message : lost(error);
      }
      if (flight.settled) return;
      flight.settled = true;
      this.#write(errorLine(flight.id, CODE.internal, problem));
    };
    this.#flights.follow(whole(), flight);
  }

  /** Nobody waits for an answer to these. */
  #quietly(work: Promise<void>): void {
    this.#flights.follow(work.catch((error: unknown) => this.options.tell(messageOf(error))));
  }

  #write(json: string): void {
    this.options.write(oneLine(json));
  }

  /** Lets what is under way come to its end, for so long at most, then the session at the gateway. */
  async end(limitMs: number): Promise<void> {
    this.#flights.abort(({ method }) => method === LISTEN);
    const late = new AbortController();
    const limit = pause(limitMs, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([this.#flights.landed(), limit]);
    late.abort();
    this.#flights.abort();
    await this.#legacy.end();
    this.options.upstream.close();
  }
}

const lost = (error: unknown): string =>
  `the connection to the gateway was lost before the answer (${messageOf(error)}); what the request did until then is not known`;
