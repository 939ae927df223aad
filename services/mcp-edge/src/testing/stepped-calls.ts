import type { ServerResponse } from 'node:http';
import { eventually } from '@cortex/testing';
import { testBackend, type TestBackend } from './backend.js';
import type { RawAsk, RawClient, RawStream } from './raw-client.js';

/** The scope of every tool of the backend below. */
export const STEPPED = 'mcp:demo:read';

/** A call of a session that runs. */
export interface SteppedCall {
  /** What comes on the connection of its POST. */
  readonly stream: Promise<RawStream>;
  /** The backend says something. */
  line(value: object): void;
  progress(n: number): void;
  finish(text?: string): void;
}

export interface SteppedCalls extends AsyncDisposable {
  readonly backend: TestBackend;
  /** A session of its own. */
  open(client: RawClient, revision?: string): Promise<string>;
  /** Resolves when the backend has the call. */
  begin(client: RawClient, session: string, id?: unknown): Promise<SteppedCall>;
}

/** A backend whose tool `work` says what a test lets it say, when the test wants it. */
export async function steppedCalls(): Promise<SteppedCalls> {
  const backend = await testBackend([{ name: 'work', scope: STEPPED, description: 'Works.', params: {} }]);
  const answers: ServerResponse[] = [];
  backend.answers['work'] = (_asked, res) => {
    res.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders();
    answers.push(res);
  };
  return {
    backend,
    async open(client, protocolVersion = '2025-11-25') {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } };
      const { headers } = await client.ask({ body: { jsonrpc: '2.0', id: 0, method: 'initialize', params } });
      return String(headers['mcp-session-id']);
    },
    async begin(client, session, id = 1) {
      const before = answers.length;
      const params = { name: 'demo_work', _meta: { progressToken: 'p' } };
      const stream = client.stream({
        headers: { 'mcp-session-id': session, accept: 'application/json, text/event-stream' },
        body: { jsonrpc: '2.0', id, method: 'tools/call', params },
      });
      const res = await eventually(() => answers[before] ?? false);
      const line = (value: object): void => void res.write(`${JSON.stringify(value)}\n`);
      return {
        stream,
        line,
        progress: (n) => line({ type: 'progress', progress: n }),
        finish(text = 'done') {
          line({ type: 'result', result: { content: [{ type: 'text', text }] }, native: true });
          res.end();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const res of answers) res.destroy();
      await backend[Symbol.asyncDispose]();
    },
  };
}

/** GET of a session; with an event id, of what came behind it. */
export function listen(client: RawClient, session: string, id?: string, more: RawAsk = {}): Promise<RawStream> {
  const headers = { 'mcp-session-id': session, ...(id !== undefined && { 'last-event-id': id }) };
  return client.stream({ method: 'GET', headers, ...more });
}

export const progressOf = ({ events }: RawStream): number[] => events.flatMap(({ params }) => params?.progress ?? []);
// oxlint-disable-next-line typescript/no-explicit-any -- what a server answered is looked at field by field
export const answerOf = ({ events }: RawStream): any => events.find(({ result }) => result !== undefined);
/** Numbers of the events of a stream, those without data included. */
export const numbersOf = ({ ids }: RawStream): number[] => ids.map((id) => Number(id.split('-')[1]));
export const streamOf = ({ ids }: RawStream): string | undefined => ids[0]?.split('-')[0];
