import type { CallEvents } from '../federation/types.js';
import type { CallMeta, ClientSaid } from '../seams.js';

/** In the order of their weight. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
/** Of each kind, for one request. */
const PER_WINDOW = 20;
const WINDOW_MS = 1_000;

export interface RelayOptions {
  readonly meta: CallMeta;
  readonly client: ClientSaid;
  /** Takes one JSON-RPC message. */
  readonly send: (message: string) => void;
  /** Ends the connection and keeps the request; undefined where the client would not come back. */
  readonly closeStream?: (() => void) | undefined;
}

/** What a backend says while it works, to the client that asked to hear it. */
export class Relay implements CallEvents {
  readonly progress?: NonNullable<CallEvents['progress']>;
  readonly log?: NonNullable<CallEvents['log']>;
  readonly closeStream?: () => void;
  readonly #valves: Valve[] = [];

  /** Undefined for a client that asked for nothing. */
  static wanted(options: RelayOptions): Relay | undefined {
    const { meta, client, closeStream } = options;
    const any = meta.progress_token !== undefined || client.log_level !== undefined || closeStream !== undefined;
    return any ? new Relay(options) : undefined;
  }

  private constructor({ meta, client, send, closeStream }: RelayOptions) {
    const { progress_token: token } = meta;
    const { log_level: level } = client;
    if (closeStream !== undefined) this.closeStream = closeStream;
    if (token !== undefined) {
      const valve = this.#valve(send);
      this.progress = (update) => valve.put(notification('progress', { progressToken: token, ...update }));
    }
    if (level !== undefined) {
      const valve = this.#valve(send);
      const least = LEVELS.indexOf(level);
      this.log = (entry) => {
        if (LEVELS.indexOf(entry.level) >= least) valve.put(notification('message', entry));
      };
    }
  }

  /** Nothing follows the answer. */
  end(): void {
    for (const valve of this.#valves) valve.shut();
  }

  #valve(send: (message: string) => void): Valve {
    const valve = new Valve(send);
    this.#valves.push(valve);
    return valve;
  }
}

const notification = (name: string, params: object): string =>
  JSON.stringify({ jsonrpc: '2.0', method: `notifications/${name}`, params });

/** Lets through so many messages a second; of what has to wait the oldest is dropped. */
class Valve {
  #sent = 0;
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #shut = false;

  constructor(private readonly send: (message: string) => void) {}

  put(message: string): void {
    if (this.#shut) return;
    this.#timer ??= setTimeout(() => this.#next(), WINDOW_MS).unref();
    if (this.#sent < PER_WINDOW) {
      this.#sent++;
      this.send(message);
      return;
    }
    this.#waiting.push(message);
    if (this.#waiting.length > PER_WINDOW) this.#waiting.shift();
  }

  shut(): void {
    this.#shut = true;
    clearTimeout(this.#timer);
    this.#waiting = [];
  }

  #next(): void {
    this.#timer = undefined;
    this.#sent = 0;
    for (const message of this.#waiting.splice(0)) this.put(message);
  }
}
