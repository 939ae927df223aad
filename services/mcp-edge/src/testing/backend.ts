import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a backend was asked. */
export interface Asked {
  method: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- what was sent is looked at field by field
  params: any;
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  context: any;
  headers: IncomingHttpHeaders;
  /** Resolves when the other side has closed the connection. */
  closed: Promise<void>;
}
/** A JSON value to answer with, or nothing where the handler answers itself. */
export type BackendHandler = (asked: Asked, res: ServerResponse) => unknown;

export interface TestBackend extends AsyncDisposable {
  readonly url: string;
  /** Everything that it was asked, oldest first. */
  readonly asked: Asked[];
  /** What it answers by method; without one 404 `{"error":"unknown method"}`. Change it as you like. */
  readonly answers: Record<string, BackendHandler>;
  /** As `answers.list_tools`. */
  tools: object[];
  /** Refuses connections until `open`. */
  shut(): Promise<void>;
  open(): Promise<void>;
}

/** An HTTP server that speaks the contract as a test wants it. */
export async function testBackend(tools: object[] = []): Promise<TestBackend> {
  const asked: Asked[] = [];
  const answers: Record<string, BackendHandler> = { list_tools: () => ({ tools: backend.tools }) };
  const server = createServer((req, res) => {
    let text = '';
    req.setEncoding('utf8');
    req.on('data', (chunk: string) => (text += chunk));
    const closed = new Promise<void>((resolve) => res.on('close', () => resolve()));
    req.on('end', () => {
      const { method, params, context } = JSON.parse(text) as Asked;
      const call = { method, params, context, headers: req.headers, closed };
      asked.push(call);
      const handler = answers[method];
      if (handler === undefined) return json(res, 404, { error: 'unknown method' });
      const value = handler(call, res);
      if (value !== undefined) json(res, 200, value);
      return undefined;
    });
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const shut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const backend: TestBackend = {
    url: `http://127.0.0.1:${port}`,
    asked,
    answers,
    tools,
    shut,
    open: () => listen(port),
    [Symbol.asyncDispose]: async () => (server.listening ? shut() : undefined),
  };
  return backend;
}

export function json(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): undefined {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

/** Environment of an edge that knows these backends; the catalogue is asked again only when a test wants it. */
export const backendEnv = (backends: Record<string, TestBackend>, more: Record<string, string> = {}) => ({
  CORTEX_BACKENDS: Object.keys(backends).join(','),
  CORTEX_TECHNICAL_TOKEN: 'technical-secret',
  CORTEX_REFRESH_INTERVAL_MS: '3600000',
  ...Object.fromEntries(
    Object.entries(backends).map(([id, { url }]) => [
      `CORTEX_BACKEND_${id.toUpperCase().replaceAll('-', '_')}_URL`,
      url,
    ]),
  ),
  ...more,
});
