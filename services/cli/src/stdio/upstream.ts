import { Agent, request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { Agent as TlsAgent, request as requestTls } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { CliError } from '../exit.js';
import { version } from '../version.js';

const ACCEPT = 'application/json, text/event-stream';
/** A peer that went without a word (a laptop that slept) is noticed by this, in a stream too. */
const KEEP_ALIVE_MS = 30_000;
/** Nobody listens while a gateway is brought back: nothing was sent, so the same may be tried again, this often and this late. */
const AGAIN_AFTER_MS = [100, 300, 900, 2_700];

/** What is asked of the gateway. */
export interface Sent {
  method: 'POST' | 'GET' | 'DELETE';
  headers?: OutgoingHttpHeaders;
  body?: string;
  signal?: AbortSignal;
}

/** What came back; `body` in pieces as they come, and to be read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncIterable<string> | Iterable<string>;
}

/**
 * The gateway on the other side, over plain `node:http`: `fetch` would give up after five minutes without a header, and reads proxies from
 * the environment. Redirects are not followed, since a token goes along.
 */
export class Upstream {
  readonly #agent: Agent;
  readonly #closing = new AbortController();

  /** `token` gives one that is valid now. */
  constructor(
    readonly url: URL,
    private readonly token: () => string,
  ) {
    const options = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS };
    this.#agent = url.protocol === 'https:' ? new TlsAgent(options) : new Agent(options);
  }

  /** Rejects when there is no connection, or it was lost before an answer. */
  async send(asked: Sent): Promise<Answer> {
    const signal = AbortSignal.any([this.#closing.signal, ...(asked.signal ? [asked.signal] : [])]);
    const sent = { ...asked, signal };
    for (const wait of AGAIN_AFTER_MS) {
      try {
        return await this.#once(sent);
      } catch (error) {
        if (!isRefused(error)) throw error;
        await pause(wait, undefined, { signal });
      }
    }
    return this.#once(sent);
  }

  #once({ method, headers, body, signal }: Sent): Promise<Answer> {
    const open = this.url.protocol === 'https:' ? requestTls : request;
    return new Promise((resolve, reject) => {
      const sent = open(this.url, {
        method,
        agent: this.#agent,
        signal,
        headers: {
          accept: ACCEPT,
          'user-agent': `cortex-stdio/${version}`,
          authorization: `Bearer ${this.token()}`,
          ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
      });
      sent.once('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
      sent.once('response', (response) =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: response.setEncoding('utf8') as AsyncIterable<string>,
        }),
      );
      sent.once('error', (cause: NodeJS.ErrnoException) =>
        reject(
          new CliError(`${this.url.origin} cannot be reached: ${cause.message || cause.code}`, undefined, { cause }),
        ),
      );
      sent.end(body);
    });
  }

  /** Lets go of whatever is still open. */
  close(): void {
    this.#closing.abort();
    this.#agent.destroy();
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof CliError && (error.cause as NodeJS.ErrnoException).code === 'ECONNREFUSED';
