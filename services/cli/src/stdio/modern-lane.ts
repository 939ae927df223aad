import type { OutgoingHttpHeaders } from 'node:http';
import { isObject } from '@cortex/contracts/is-object';
import { headerValue } from '../mcp-client.js';
import type { Flight } from './flights.js';
import { CODE, type ClientMessage, type Json } from './message.js';
import { ParamHeaders } from './param-headers.js';
import { messagesIn, parse, relay, wholeOf } from './relay.js';
import type { Answer, Upstream } from './upstream.js';

type Request = Extract<ClientMessage, { kind: 'request' }>;

/** The request whose answer is a subscription. */
export const LISTEN = 'subscriptions/listen';
/** Which parameter `Mcp-Name` repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};
/** Schemas as they were declared, whatever the address of the gateway asks for. */
const WHOLE = { 'x-cortex-tool-mode': 'full', 'x-cortex-schema-profile': 'original' };
/** Against a gateway whose list has no end. */
const MAX_PAGES = 1_000;

/** Requests of the stateless era: each is a POST by itself, with headers that repeat what is in it. */
export class ModernLane {
  readonly #params = new ParamHeaders();

  constructor(
    private readonly upstream: Upstream,
    private readonly write: (json: string) => void,
  ) {}

  async request(request: Request, text: string, version: string, flight: Flight): Promise<void> {
    const { method, id } = request;
    const post = () => this.#post(request, text, version, flight.signal);
    let answer = await post();
    // The list may be older than the tool, or the client never asked for it.
    if (method === 'tools/call' && answer.status === 400) {
      const refused = await wholeOf(answer);
      const learn = isMismatch(refused) && (await this.#learn(request, version, flight.signal));
      answer = learn ? await post() : { ...answer, body: [refused] };
    }
    let ended = false;
    await relay(answer, flight, {
      write: this.write,
      onResult: (result) => {
        if (method === 'tools/list') this.#params.learn(result);
        ended = method === LISTEN;
      },
    });
    // On stdio the end of a subscription that nobody asked to end is said twice.
    if (ended)
      this.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }));
  }

  async notification(method: string, text: string, version: string): Promise<Answer> {
    const headers = { 'mcp-protocol-version': headerValue(version), 'mcp-method': headerValue(method) };
    return this.upstream.send({ method: 'POST', headers, body: text });
  }

  #post(request: Request, text: string, version: string, signal: AbortSignal): Promise<Answer> {
    const { method, params } = request;
    const name = params[NAMED_BY[method] ?? ''];
    const headers = {
      ...(method === 'tools/call' && this.#params.of(params)),
      ...standardHeaders(version, method, name),
    };
    return this.upstream.send({ method: 'POST', headers, body: text, signal });
  }

  /** Reads the list of tools in the name of the client. False when it cannot be had. */
  async #learn({ params }: Request, version: string, signal: AbortSignal): Promise<boolean> {
    const method = 'tools/list';
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES; page++) {
      const asked = { _meta: params['_meta'], ...(cursor !== undefined && { cursor }) };
      const body = JSON.stringify({ jsonrpc: '2.0', id: `cortex-stdio-${page}`, method, params: asked });
      const headers = { ...WHOLE, ...standardHeaders(version, method) };
      const result = await resultIn(await this.upstream.send({ method: 'POST', headers, body, signal }));
      if (result === undefined) return false;
      this.#params.learn(result);
      cursor = result['nextCursor'];
      if (cursor === undefined) return true;
    }
    return false;
  }
}

const standardHeaders = (version: string, method: string, name?: unknown): OutgoingHttpHeaders => ({
  'mcp-protocol-version': headerValue(version),
  'mcp-method': headerValue(method),
  ...(typeof name === 'string' && { 'mcp-name': headerValue(name) }),
});

function isMismatch(text: string): boolean {
  const message = parse(text);
  const error = isObject(message) ? message['error'] : undefined;
  return isObject(error) && error['code'] === CODE.headerMismatch;
}

async function resultIn(answer: Answer): Promise<Json | undefined> {
  let result: Json | undefined;
  for await (const text of messagesIn(answer)) {
    const message = parse(text);
    if (isObject(message) && isObject(message['result'])) result = message['result'];
  }
  return result;
}
