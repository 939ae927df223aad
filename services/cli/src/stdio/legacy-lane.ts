import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '@cortex/contracts/is-object';
import { CliError, messageOf } from '../exit.js';
import type { Flight } from './flights.js';
import { isUnnamedError, named, type Json } from './message.js';
import { messagesIn, parse, refusal, relay, wholeOf, type Place } from './relay.js';
import { Remembered } from './remembered.js';
import type { Answer, Upstream } from './upstream.js';

/** A session at the gateway. */
interface Session {
  /** Absent where the gateway keeps none. */
  id: string | undefined;
  /** Negotiated revision. */
  version: string;
}

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;
const GOODBYE_MS = 2_000;
/** Statuses of a gateway that may well have a stream to give later. */
const LATER = new Set([401, 429, 502, 503, 504]);
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

/**
 * Messages of the revisions with a handshake. The session that HTTP has and stdio does not is held here: opened by `initialize`, echoed, made
 * anew when the gateway knows it no more (a day is over, or it began with another store), and ended with the bridge.
 */
export class LegacyLane {
  #hello: string | undefined;
  #session: Session | undefined;
  /** Whoever must not overtake the handshake waits for it. */
  #settled: Promise<unknown> = Promise.resolve();
  #renewal: Promise<void> | undefined;
  #listening = new AbortController();
  readonly #remembered = new Remembered();

  constructor(
    private readonly upstream: Upstream,
    private readonly write: (json: string) => void,
    private readonly tell: (text: string) => void,
  ) {}

  /** Whether a client has begun in this era. */
  get begun(): boolean {
    return this.#hello !== undefined;
  }

  /** Settles before anything else is sent. */
  initialize(text: string, flight: Flight): Promise<void> {
    const work = this.#settled.then(() => this.#greet(text, flight));
    this.#hello = text;
    this.#settled = work.catch(() => undefined);
    return work;
  }

  async #greet(text: string, flight: Flight): Promise<void> {
    await this.end();
    const answer = await this.upstream.send({ method: 'POST', body: text, signal: flight.signal });
    await relay(answer, flight, { write: this.write, onResult: (result) => this.#enter(answer, result) });
  }

  #enter({ headers }: Answer, { protocolVersion }: Json): void {
    const id = headers['mcp-session-id'];
    this.#session = { id: typeof id === 'string' ? id : undefined, version: String(protocolVersion) };
  }

  async request(method: string, params: Json, text: string, flight: Flight): Promise<void> {
    await this.#settled;
    if (flight.settled) return;
    const place: Place = {};
    let answer = await this.#post(text, flight.signal);
    const onResult = () => this.#remembered.note(method, params, text);
    for (;;) {
      try {
        await relay(answer, flight, { write: this.write, onResult }, place);
      } catch (error) {
        // A stream with ids is gone on with; everything else is over.
        if (error instanceof CliError || place.after === undefined) throw error;
      }
      if (flight.settled || place.after === undefined) return;
      answer = await this.#resumed(place, flight.signal);
    }
  }

  /** The rest of a stream that ended before the answer was in it: the call goes on at the gateway. */
  async #resumed(place: Place, signal: AbortSignal): Promise<Answer> {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      await pause(place.retryMs ?? wait, undefined, { signal });
      const answer = await this.#get(this.#session, place, signal).catch(() => undefined);
      signal.throwIfAborted();
      if (answer?.status === 200) return answer;
      if (answer !== undefined && !LATER.has(answer.status)) throw refusal(answer, await wholeOf(answer));
    }
  }

  async notification(method: string, text: string): Promise<void> {
    const begins = method === 'notifications/initialized';
    const sent = this.#settled.then(async () => {
      await this.#deliver(text);
      if (begins) this.#listen();
    });
    // The gateway is to know of it before it is asked the first thing.
    if (begins) this.#settled = sent.catch(() => undefined);
    await sent;
  }

  /** An answer of the client to a question of the gateway. */
  async response(text: string): Promise<void> {
    await this.#settled;
    await this.#deliver(text);
  }

  async #deliver(text: string): Promise<void> {
    const answer = await this.#post(text);
    const body = await wholeOf(answer);
    if (answer.status >= 300) throw refusal(answer, body);
  }

  /** Of 2025-03-26: several messages in one, answered by one. */
  async batch(text: string, flights: readonly Flight[]): Promise<void> {
    await this.#settled;
    const answer = await this.#post(text);
    for await (const said of messagesIn(answer)) {
      const message = parse(said);
      if (isUnnamedError(message)) {
        for (const flight of flights.filter(({ settled }) => !settled)) {
          flight.settled = true;
          this.write(named(message, flight.id));
        }
        continue;
      }
      if (!isObject(message) && !Array.isArray(message)) throw refusal(answer, said);
      this.write(said);
      const ids = new Set([message].flat().map((one) => (isObject(one) ? one['id'] : undefined)));
      for (const flight of flights) if (ids.has(flight.id)) flight.settled = true;
    }
  }

  async #post(text: string, signal?: AbortSignal): Promise<Answer> {
    const session = this.#session;
    const answer = await this.#send(session, text, signal);
    if (answer.status !== 404 || session?.id === undefined) return answer;
    await wholeOf(answer);
    await this.#renewed(session);
    return this.#send(this.#session, text, signal);
  }

  #send(session: Session | undefined, body: string, signal?: AbortSignal): Promise<Answer> {
    return this.upstream.send({ method: 'POST', headers: headersOf(session), body, signal });
  }

  #get(session: Session | undefined, { after }: Place, signal: AbortSignal): Promise<Answer> {
    const headers = { ...headersOf(session), accept: 'text/event-stream', ...(after && { 'last-event-id': after }) };
    return this.upstream.send({ method: 'GET', headers, signal });
  }

  /** Another session in place of one that is gone, with what the client had set in that one. Nothing is told of it on stdio. */
  async #renewed(gone: Session): Promise<void> {
    if (this.#session === gone) this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined));
    await this.#renewal;
  }

  async #renew(): Promise<void> {
    if (this.#hello === undefined) return;
    this.tell('the session at the gateway is gone; beginning another one');
    const answer = await this.upstream.send({ method: 'POST', body: this.#hello });
    const body = await wholeOf(answer);
    const said = parse(body);
    if (!isObject(said) || !isObject(said['result'])) throw refusal(answer, body);
    this.#enter(answer, said['result']);
    for (const text of [INITIALIZED, ...this.#remembered.texts()]) await wholeOf(await this.#send(this.#session, text));
    this.#listen();
  }

  /** Copies what the gateway says without being asked. */
  #listen(): void {
    this.#listening.abort();
    this.#listening = new AbortController();
    void this.#copy(this.#session, this.#listening.signal);
  }

  async #copy(session: Session | undefined, signal: AbortSignal): Promise<void> {
    const place: Place = {};
    try {
      for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
        const answer = await this.#get(session, place, signal).catch(() => undefined);
        if (answer?.status === 200) {
          wait = FIRST_RETRY_MS;
          await this.#copyEvents(answer, place);
        } else if (answer !== undefined) {
          await wholeOf(answer);
          if (answer.status === 404 && session?.id !== undefined) return await this.#renewed(session);
          if (!LATER.has(answer.status)) return;
        }
        await pause(place.retryMs ?? wait, undefined, { signal });
      }
    } catch (error) {
      // The next request begins another session, and with it another stream.
      if (!signal.aborted) this.tell(`notifications of the gateway are not read: ${messageOf(error)}`);
    }
  }

  async #copyEvents(answer: Answer, place: Place): Promise<void> {
    try {
      for await (const text of messagesIn(answer, place)) if (isObject(parse(text))) this.write(text);
    } catch {
      // Lost: gone on with.
    }
  }

  /** Ends the session at the gateway; one that does not answer is left alone. */
  async end(): Promise<void> {
    this.#listening.abort();
    const session = this.#session;
    this.#session = undefined;
    this.#remembered.clear();
    if (session?.id === undefined) return;
    const signal = AbortSignal.timeout(GOODBYE_MS);
    try {
      await wholeOf(await this.upstream.send({ method: 'DELETE', headers: headersOf(session), signal }));
    } catch {
      // It ends by itself within a day.
    }
  }
}

const headersOf = (session: Session | undefined) => ({
  ...(session !== undefined && { 'mcp-protocol-version': session.version }),
  ...(session?.id !== undefined && { 'mcp-session-id': session.id }),
});
