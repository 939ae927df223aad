import { connect, type Socket } from 'node:net';
import { percentile } from './figures.js';
import { HttpAnswers } from './http-answers.js';
import { ID_DIGITS, type WireRequest } from './request.js';

/** What the load program is told; its first message. */
export interface LoadOrder {
  port: number;
  request: WireRequest;
  connections: number;
  /** At least so long and so many calls, but never more than four times as long. */
  warmupMs: number;
  warmupCalls: number;
  measureMs: number;
  /** Text that a whole answer holds. */
  expect: string;
  /** The answer is no JSON-RPC: its text alone is compared. */
  plain?: true;
}

export interface LoadResult {
  /** Answers of the measured time, with its length. */
  measured: number;
  seconds: number;
  p50_ms: number;
  p99_ms: number;
  /** All answers since the start, those of the warm-up and after the end too. */
  answers: number;
  /** First wrong answer; the run is void. */
  wrong?: string;
}

export type LoadMessage = { at: 'begin' } | { at: 'end' } | { at: 'done'; result: LoadResult };

/** One answer in so many is parsed and compared; the others only need the right status and length. */
const CHECK_EVERY = 200;

/** Keeps one request in flight per connection; no HTTP client, so that it stays far below the cost of what it measures. */
class Load {
  readonly #order: LoadOrder;
  readonly #sockets: Socket[] = [];
  #nextId = 1;
  #answers = 0;
  #inFlight = 0;
  #stopping = false;
  #times: number[] | undefined;
  wrong: string | undefined;

  constructor(order: LoadOrder) {
    this.#order = order;
  }

  get answers(): number {
    return this.#answers;
  }

  open(): void {
    for (let i = 0; i < this.#order.connections; i++) this.#connect();
  }

  begin(): void {
    this.#times = [];
  }

  end(): number[] {
    const times = this.#times ?? [];
    this.#times = undefined;
    return times;
  }

  async close(): Promise<number> {
    this.#stopping = true;
    const until = Date.now() + 5_000;
    while (this.#inFlight > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
    for (const socket of this.#sockets) socket.destroy();
    return this.#answers;
  }

  #connect(): void {
    const { request, port, expect, plain } = this.#order;
    const bytes = Buffer.from(request.head + request.body);
    const idAt = request.head.length + request.idAt;
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#sockets.push(socket);
    let id = 0;
    let sentAt = 0;
    const send = () => {
      id = this.#nextId++;
      bytes.write(String(id).padStart(ID_DIGITS - 1, '0'), idAt + 1, 'latin1');
      sentAt = performance.now();
      this.#inFlight++;
      socket.write(bytes);
    };
    const answers = new HttpAnswers((status, body) => {
      this.#inFlight--;
      this.#times?.push(performance.now() - sentAt);
      if (++this.#answers % CHECK_EVERY === 1) this.#check(plain ? undefined : id, body, expect);
      if (status !== 200 || body.length < expect.length) {
        this.wrong ??= `status ${status}: ${body.toString('utf8', 0, 500)}`;
      }
      if (!this.#stopping && this.wrong === undefined) send();
    });
    socket.on('connect', send);
    socket.on('data', (chunk) => answers.take(chunk));
    socket.on('error', (error) => (this.wrong ??= error.message));
    socket.on('close', () => {
      if (!this.#stopping) this.wrong ??= 'the server closed a connection';
    });
  }

  /** The right id, an error-free result, and the text that was sent; without an id the text alone. */
  #check(id: number | undefined, body: Buffer, expect: string): void {
    const text = body.toString('utf8');
    if (id === undefined) {
      if (!text.includes(expect)) this.wrong ??= `not the echo: ${text.slice(0, 500)}`;
      return;
    }
    try {
      // An answer as a stream of one event is valid MCP too.
      const answer = JSON.parse(text.startsWith('{') ? text : text.slice(text.indexOf('{'))) as {
        id?: unknown;
        result?: { isError?: boolean };
      };
      const whole = answer.result !== undefined && answer.result.isError !== true && text.includes(expect);
      const sent = Number('1' + String(id).padStart(ID_DIGITS - 1, '0'));
      if (!whole || answer.id !== sent) this.wrong ??= `not the echo of call ${sent}: ${text.slice(0, 500)}`;
    } catch {
      this.wrong ??= `no JSON: ${text.slice(0, 500)}`;
    }
  }
}

/** Until the server has compiled what it runs: that takes calls, and a slow server needs longer for them. */
async function warmUp(load: Load, { warmupMs, warmupCalls }: LoadOrder): Promise<void> {
  const from = Date.now();
  const elapsed = () => Date.now() - from;
  while (elapsed() < warmupMs || (load.answers < warmupCalls && elapsed() < 4 * warmupMs && load.wrong === undefined)) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function run(order: LoadOrder): Promise<LoadResult> {
  const load = new Load(order);
  load.open();
  await warmUp(load, order);
  load.begin();
  const from = performance.now();
  process.send?.({ at: 'begin' } satisfies LoadMessage);
  await new Promise((resolve) => setTimeout(resolve, order.measureMs));
  const times = load.end();
  const seconds = (performance.now() - from) / 1000;
  process.send?.({ at: 'end' } satisfies LoadMessage);
  const answers = await load.close();
  return {
    measured: times.length,
    seconds,
    p50_ms: percentile(times, 0.5),
    p99_ms: percentile(times, 0.99),
    answers,
    ...(load.wrong !== undefined && { wrong: load.wrong }),
  };
}

process.once('message', (order: LoadOrder) => {
  void run(order).then((result) => process.send?.({ at: 'done', result } satisfies LoadMessage));
});
process.once('disconnect', () => process.exit(0));
