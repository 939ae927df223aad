import { connect, type Socket } from 'node:net';
import { HttpAnswers } from '../http-answers.js';

export interface Answer {
  status: number;
  head: string;
  body: string;
}

export interface Exchange {
  method: 'POST' | 'DELETE';
  headers: Record<string, string>;
  body?: string;
}

/** No request of the load may take as long as this; one that is never answered would else keep its client for ever, and be counted nowhere. */
const ANSWER_MS = 60_000;

/** One request after the other over a connection that is kept, and made anew when the server has closed it meanwhile. */
export class Connection {
  #socket: Socket | undefined;
  #waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  constructor(
    private readonly port: number,
    private readonly answerMs = ANSWER_MS,
  ) {}

  /** Rejects when the connection breaks before the answer is whole, or the answer does not come in time. */
  send({ method, headers, body = '' }: Exchange): Promise<Answer> {
    const socket = (this.#socket ??= this.#open());
    const lines = Object.entries({
      host: `127.0.0.1:${this.port}`,
      ...headers,
      'content-length': Buffer.byteLength(body),
    });
    const head = `${method} /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
    const late = () => socket.destroy(new Error(`no answer within ${this.answerMs} ms`));
    const timer = setTimeout(late, this.answerMs);
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting = { resolve, reject };
      socket.write(head + body);
    }).finally(() => clearTimeout(timer));
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #open(): Socket {
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    const answers = new HttpAnswers((status, body, head) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve({ status, head, body: body.toString('utf8') });
    });
    socket.on('data', (chunk) => answers.take(chunk));
    const gone = (why: string) => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.reject(new Error(why));
    };
    socket.on('error', (error) => gone(error.message));
    socket.on('close', () => gone('the connection was closed before the answer'));
    return socket;
  }
}
