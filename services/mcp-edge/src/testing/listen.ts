import { eventually } from '@cortex/testing';
import { type EdgeFixture, modernMeta } from './edge-fixture.js';

export interface Listening extends AsyncDisposable {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- notifications are looked at field by field
  readonly events: any[];
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
}

/** A `subscriptions/listen` that stays open; resolves with its first event, or with the refusal. */
export async function listen(
  edge: EdgeFixture,
  token?: string,
  notifications: object = { toolsListChanged: true },
): Promise<Listening> {
  const stop = new AbortController();
  const response = await fetch(edge.url, {
    method: 'POST',
    signal: stop.signal,
    headers: {
      authorization: `Bearer ${token ?? (await edge.token())}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'sub',
      method: 'subscriptions/listen',
      params: { notifications, _meta: modernMeta },
    }),
  });
  const events: Listening['events'] = [];
  const streams = response.headers.get('content-type') === 'text/event-stream';
  if (!streams) events.push(await response.json());
  const ended = streams ? read(response, events) : Promise.resolve();
  await eventually(() => events.length > 0);
  return {
    status: response.status,
    events,
    ended,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

async function read(response: Response, events: unknown[]): Promise<void> {
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = block.split('\n').find((line) => line.startsWith('data: '));
        if (data !== undefined) events.push(JSON.parse(data.slice(6)));
      }
    }
  } catch {
    // Ended by the test itself.
  }
}
