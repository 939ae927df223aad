import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { Connection, type Answer } from './connection.js';

const MODERN = '2026-07-28';
const INFO = { name: 'cortex-bench', version: '1.0.0' };
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': INFO,
};
const BOTH = 'application/json, text/event-stream';
const RESOURCE = 'cortex://architecture';

/** A revision with sessions, or the stateless one. */
export type Revision = '2025-06-18' | '2025-11-25' | typeof MODERN;

export interface ClientOptions {
  port: number;
  token: string;
  revision: Revision;
  /** It also holds a stream of notifications open; with a session it subscribes to a resource too. */
  stream: boolean;
}

/** A result as far as a caller looks at it. */
export type Result = Record<string, unknown> & {
  isError?: boolean;
  structuredContent?: Record<string, unknown>;
};

/** An MCP client on the wire, cheap enough that hundreds of them cost less than what they call. Whatever is no good answer throws. */
export class McpClient {
  readonly #options: ClientOptions;
  readonly #connection: Connection;
  #session: string | undefined;
  #stream: { sent: ClientRequest; ended: boolean } | undefined;
  #nextId = 1;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#connection = new Connection(options.port);
  }

  get #legacy(): boolean {
    return this.#options.revision !== MODERN;
  }

  /** The handshake of its revision, and its stream. */
  async connect(): Promise<void> {
    if (this.#legacy) {
      const { revision: protocolVersion } = this.#options;
      const { head } = await this.#ask('initialize', { protocolVersion, capabilities: {}, clientInfo: INFO });
      this.#session = /^mcp-session-id: (\S+)/im.exec(head)?.[1];
      if (this.#session === undefined) throw new Error(`initialize gave no session: ${head}`);
      const { status } = await this.#post({ method: 'notifications/initialized' });
      if (status !== 202) throw new Error(`notifications/initialized: status ${status}`);
    } else await this.request('server/discover', {});
    if (!this.#options.stream) return;
    await this.#openStream();
    if (this.#legacy) await this.request('resources/subscribe', { uri: RESOURCE });
  }

  async request(method: string, params: Record<string, unknown>): Promise<Result> {
    if (this.#stream?.ended) throw new Error('the server ended the stream of notifications');
    return (await this.#ask(method, params)).result;
  }

  /** What the tool says as structured content. */
  async call(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
    const result = await this.request('tools/call', { name, arguments: args });
    if (result.isError === true || result.structuredContent === undefined)
      throw new Error(`${name}: ${JSON.stringify(result).slice(0, 500)}`);
    return result.structuredContent;
  }

  /** Goes as a client that ends in order: stream closed, session deleted. */
  async leave(): Promise<void> {
    try {
      this.#stream?.sent.destroy();
      this.#stream = undefined;
      if (this.#session === undefined) return;
      const { status } = await this.#connection.send({ method: 'DELETE', headers: this.#headers() });
      this.#session = undefined;
      if (status < 200 || status > 299) throw new Error(`the end of a session: status ${status}`);
    } finally {
      this.#connection.close();
    }
  }

  async #ask(method: string, params: Record<string, unknown>): Promise<{ head: string; result: Result }> {
    const id = this.#nextId++;
    const answer = await this.#post({ id, method, params: this.#legacy ? params : { ...params, _meta: META } });
    return { head: answer.head, result: resultOf(method, id, answer) };
  }

  #post(message: { id?: number; method: string; params?: Record<string, unknown> }): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    return this.#connection.send({ method: 'POST', headers: this.#headers(message), body });
  }

  #headers(message?: { method: string; params?: Record<string, unknown> }): Record<string, string> {
    const { token, revision } = this.#options;
    const name = message?.params?.['name'];
    return {
      authorization: `Bearer ${token}`,
      accept: BOTH,
      ...(message && { 'content-type': 'application/json' }),
      ...(message?.method !== 'initialize' && { 'mcp-protocol-version': revision }),
      ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
      ...(!this.#legacy && message && { 'mcp-method': message.method }),
      ...(!this.#legacy && typeof name === 'string' && { 'mcp-name': name }),
    };
  }

  /** Resolves when it is open; what comes on it is read and dropped. */
  async #openStream(): Promise<void> {
    const message = {
      jsonrpc: '2.0',
      id: 'listen',
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true }, _meta: META },
    };
    const body = this.#legacy ? undefined : JSON.stringify(message);
    const headers = this.#headers(this.#legacy ? undefined : message);
    const { port } = this.#options;
    const method = this.#legacy ? 'GET' : 'POST';
    const sent = request({ host: '127.0.0.1', port, path: '/mcp', method, headers, agent: false });
    const stream = { sent, ended: false };
    this.#stream = stream;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject).end(body);
    });
    sent.on('error', () => (stream.ended = true));
    response.on('error', () => (stream.ended = true)).once('close', () => (stream.ended = true));
    response.resume();
    const type = String(response.headers['content-type']);
    if (response.statusCode !== 200 || !type.startsWith('text/event-stream'))
      throw new Error(`a stream of notifications: status ${response.statusCode}, ${type}`);
  }
}

/** The answer is a JSON body, or an event of a stream. */
function resultOf(method: string, id: number, { status, body }: Answer): Result {
  const events = body.startsWith('{')
    ? [body]
    : body
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:') && line.includes('{'))
        .map((line) => line.slice(5));
  for (const event of events) {
    const message = JSON.parse(event) as { id?: unknown; result?: Result };
    if (message.id === id && message.result !== undefined) return message.result;
  }
  throw new Error(`${method}: status ${status}: ${body.slice(0, 500)}`);
}
