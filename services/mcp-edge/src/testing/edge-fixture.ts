import { type CallFinished, type CallRecord, CALLS_STREAM } from '@cortex/contracts';
import { freePort } from '@cortex/embedded';
import type { ServiceDefinition } from '@cortex/service-kit';
import { eventually, type NatsFixture, type PostgresFixture, type RunningService, startService } from '@cortex/testing';
import { Edge } from '../edge.js';
import { http } from '../http-part.js';
import { McpEdgeModule, mcpEdgeService } from '../mcp-edge.module.js';
import { testIssuer, type TestIssuer } from './issuer.js';
import { sampleService } from './sample-tools.js';

/** Every scope that a tool of the tests may need. */
export const ALL_SCOPES = 'mcp:cortex:read mcp:cortex:write mcp:cortex:devices';
const VERSION = '2026-07-28';

export interface Answer {
  status: number;
  headers: Headers;
  /** The parsed JSON-RPC message; undefined where there is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what a server answered is looked at field by field
  body: any;
  text: string;
}

export interface Ask {
  id?: string | number;
  token?: string;
  meta?: Record<string, unknown>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Told what has come of the answer so far. */
  onText?: (soFar: string) => void;
  /** Through the SDK's entry instead of the fast lane. */
  sdk?: boolean;
}

export interface EdgeFixture extends AsyncDisposable {
  readonly origin: string;
  readonly url: string;
  readonly edge: Edge;
  readonly issuer: TestIssuer;
  readonly app: RunningService;
  readonly nats: NatsFixture;
  readonly postgres: PostgresFixture;
  /** Of alice with every scope, unless claims say otherwise. */
  token(claims?: Record<string, unknown>): Promise<string>;
  /** One modern request with all that belongs to it. */
  ask(method: string, params?: Record<string, unknown>, ask?: Ask): Promise<Answer>;
  call(tool: string, args?: unknown, ask?: Ask): Promise<Answer>;
  /** A body as it is, with the token and JSON headers unless others are given. */
  post(body: string | object, headers?: Record<string, string>): Promise<Answer>;
  /** Records of the stream so far, oldest first. */
  records(): Promise<CallRecord[]>;
  /** The `Finished` of a call, when it is there. */
  finished(match: Partial<CallFinished>): Promise<CallFinished>;
}

export interface EdgeOptions {
  beside?: readonly ServiceDefinition[];
  /** Set, or made of the issuer that is made for this edge. */
  env?: Record<string, string> | ((issuer: TestIssuer) => Record<string, string>);
  nats?: NatsFixture;
  postgres?: PostgresFixture;
  ready?: boolean;
}

/** An edge with its listener, a bus, a database and an issuer; `beside` (the sample tools) runs in the same process. */
export async function startEdge(options: EdgeOptions = {}): Promise<EdgeFixture> {
  const issuer = await testIssuer();
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}/mcp`;
  const { beside = [sampleService], env = {}, ...rest } = options;
  const app = await startService(
    { module: McpEdgeModule, def: mcpEdgeService, http },
    {
      ...rest,
      beside,
      env: {
        PORT: String(port),
        WEBHOOK_PORT: '0',
        OAUTH_ISSUER: issuer.url,
        CORTEX_RATE_LIMIT_PER_MINUTE: '1000000',
        ...(typeof env === 'function' ? env(issuer) : env),
      },
    },
  ).catch(async (error: unknown) => {
    await issuer[Symbol.asyncDispose]();
    throw error;
  });
  const edge = app.get(Edge);
  const tools = beside.flatMap((service) => service.tools.map((tool) => tool.name));
  if (options.ready !== false)
    await eventually(() => edge.catalog.complete && tools.every((name) => edge.catalog.find(name)?.live));
  const token = (claims: Record<string, unknown> = {}) => issuer.token(url, { scope: ALL_SCOPES, ...claims });
  const standard = await token();
  const send = async (body: string, headers: Record<string, string>, { signal, onText }: Ask = {}): Promise<Answer> => {
    const response = await fetch(url, { method: 'POST', headers, body, ...(signal && { signal }) });
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      onText?.(text);
    }
    return { status: response.status, headers: response.headers, text, body: messageOf(text) };
  };
  const common = (bearer: string) => ({
    authorization: `Bearer ${bearer}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  });
  const fixture: EdgeFixture = {
    origin,
    url,
    edge,
    issuer,
    app,
    nats: app.nats,
    postgres: app.postgres,
    token,
    ask(method, params = {}, ask = {}) {
      const { id = 1, token: bearer = standard, meta = {}, headers = {}, sdk = false } = ask;
      const name = method === 'resources/read' ? params['uri'] : params['name'];
      const body = { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...modernMeta, ...meta } } };
      return send(
        JSON.stringify(body),
        {
          ...common(bearer),
          'mcp-protocol-version': VERSION,
          'mcp-method': method,
          ...(typeof name === 'string' && { 'mcp-name': name }),
          ...(sdk && { 'x-cortex-lane': 'sdk' }),
          ...headers,
        },
        ask,
      );
    },
    call: (name, args, ask) => fixture.ask('tools/call', { name, ...(args !== undefined && { arguments: args }) }, ask),
    post: (body, headers = {}) =>
      send(typeof body === 'string' ? body : JSON.stringify(body), { ...common(standard), ...headers }),
    async records() {
      const bus = await app.nats.busAs('provision');
      const records: CallRecord[] = [];
      for (let seq = 1; ;) {
        const message = await bus.direct.next(CALLS_STREAM, 'cortex.call.>', seq);
        if (message === null) break;
        records.push(JSON.parse(Buffer.from(message.data).toString()) as CallRecord);
        seq = message.seq + 1;
      }
      await bus.close();
      return records;
    },
    finished: (match) =>
      eventually(async () => {
        const found = (await fixture.records()).find(
          (record): record is CallFinished =>
            record.type === 'ToolCallFinished' &&
            Object.entries(match).every(([key, value]) => record[key as keyof CallFinished] === value),
        );
        if (found === undefined) throw new Error(`no record like ${JSON.stringify(match)}`);
        return found;
      }),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
  return fixture;
}

export const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'spec', version: '1' },
};

/** One message, out of a JSON body or the last event of a stream. */
function messageOf(text: string): unknown {
  const data =
    text.startsWith('{') || text.startsWith('[')
      ? text
      : text
          .split('\n')
          .findLast((line) => line.startsWith('data: '))
          ?.slice(6);
  try {
    return data === undefined ? undefined : JSON.parse(data);
  } catch {
    return undefined;
  }
}
