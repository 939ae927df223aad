import type { ServerResponse } from 'node:http';
import { eventually } from '@cortex/testing';
import { testBackend, type TestBackend } from './backend.js';
import type { RawAsk, RawClient, RawStream } from './raw-client.js';

/** The scope of every tool of the backend below. */
export const STEPPED = 'mcp:demo:read';

/** What a backend that has a call can say. */
export interface Steps {
  line(value: object): void;
  progress(n: number): void;
  finish(text?: string): void;
  /** The final line, whatever it is; `native`, so a result of MCP. */
  end(result: object): void;
}

/** A call of a session that runs. */
export interface SteppedCall extends Steps {
  /** What comes on the connection of its POST. */
  readonly stream: Promise<RawStream>;
  /** Resolves when the backend is called again for it. */
  again(): Promise<Steps>;
}

export interface SteppedCalls extends AsyncDisposable {
  readonly backend: TestBackend;
  /** A session of its own. */
  open(client: RawClient, revision?: string, capabilities?: object): Promise<string>;
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
    async open(client, protocolVersion = '2025-11-25', capabilities = {}) {
      const params = { protocolVersion, capabilities, clientInfo: { name: 'c', version: '1' } };
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
      const steps = async (n: number): Promise<Steps> => stepsOf(await eventually(() => answers[before + n] ?? false));
      return { stream, again: () => steps(1), ...(await steps(0)) };
    },
    async [Symbol.asyncDispose]() {
      for (const res of answers) res.destroy();
      await backend[Symbol.asyncDispose]();
    },
  };
}

function stepsOf(res: ServerResponse): Steps {
  const line = (value: object): void => void res.write(`${JSON.stringify(value)}\n`);
  const end = (result: object): void => {
    line({ type: 'result', result, native: true });
    res.end();
  };
  return {
    line,
    end,
    progress: (n) => line({ type: 'progress', progress: n }),
    finish: (text = 'done') => end({ content: [{ type: 'text', text }] }),
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
