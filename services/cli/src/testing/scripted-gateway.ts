import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';

export interface Seen {
  method: string;
  headers: IncomingHttpHeaders;
  /** The message of a POST. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what a client sent is looked at field by field
  message: any;
  /** True once the client has let the exchange go before its end. */
  left: boolean;
}

export type Script = (seen: Seen, res: ServerResponse) => void | Promise<void>;

/** An HTTP server in the place of the gateway that answers as a test says, and keeps what it was asked. */
export class ScriptedGateway implements AsyncDisposable {
  readonly seen: Seen[] = [];
  readonly #server = createServer((req, res) => void this.#serve(req, res));

  private constructor(private readonly script: Script) {}

  static async start(script: Script, port = 0): Promise<ScriptedGateway> {
    const gateway = new ScriptedGateway(script);
    await new Promise<void>((resolve) => gateway.#server.listen(port, '127.0.0.1', resolve));
    return gateway;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`);
  }

  /** What was asked with this method of JSON-RPC, or of HTTP. */
  asked(method: string): Seen[] {
    return this.seen.filter((one) => one.message?.method === method || one.method === method);
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await readAll(req);
    const message: unknown = body === '' ? undefined : JSON.parse(body);
    const seen: Seen = { method: String(req.method), headers: req.headers, message, left: false };
    res.once('close', () => (seen.left = !res.writableFinished));
    this.seen.push(seen);
    await this.script(seen, res);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function json(res: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}): void {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

export const result = (res: ServerResponse, { message: { id } }: Seen, value: object = {}): void =>
  json(res, { jsonrpc: '2.0', id, result: value });

/** Begins a stream of events; each event is one message, with an id where one is given. */
export function stream(res: ServerResponse): (message: unknown, id?: string) => void {
  res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  return (message, id) => {
    const data = message === '' ? '' : JSON.stringify(message);
    res.write(`${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`);
  };
}

/** A handshake and nothing more; false where something else was asked. */
export function greeted(seen: Seen, res: ServerResponse, session = 's1', protocolVersion = '2025-11-25'): boolean {
  const { method, message } = seen;
  if (message?.method === 'initialize')
    json(res, { jsonrpc: '2.0', id: message.id, result: { protocolVersion } }, 200, { 'mcp-session-id': session });
  else if (method === 'DELETE' || (message?.id === undefined && method === 'POST')) res.writeHead(202).end();
  else if (method === 'GET') res.writeHead(405).end();
  else return false;
  return true;
}
