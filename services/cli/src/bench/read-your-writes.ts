import { Agent, request } from 'node:http';
import { startEdgeWith } from './edge-with.js';
import { percentile } from './figures.js';
import { ADD, notesService, READ } from './notes.js';
import { toolCall, type Door, type WireRequest } from './request.js';
import type { Scenario } from './scenario.js';

const WORKERS = 16;
const WARMUP_MS = 3_000;
const MEASURE_MS = 10_000;
const QUICK_MS = 1_000;

/** How long a read takes that must see the write of the same caller just before it, while others do the same. */
export const readYourWrites: Scenario = {
  name: 'read-your-writes',
  what: `a read right after one's own write, ${WORKERS} callers at once`,
  async run({ quick, signal }) {
    await using running = await startEdgeWith(notesService, { file: 'service-main.js', argv: ['notes'], tool: ADD });
    const { door } = running;
    const agent = new Agent({ keepAlive: true, maxSockets: WORKERS });
    const begin = performance.now() + (quick ? QUICK_MS : WARMUP_MS);
    const end = begin + (quick ? QUICK_MS : MEASURE_MS);
    const writes: number[] = [];
    const reads: number[] = [];
    const worker = async (w: number): Promise<void> => {
      for (let n = 1; performance.now() < end; n++) {
        signal.throwIfAborted();
        const id = `worker-${w}`;
        const written = await timed(() => call(agent, door, ADD, { id, text: `note ${n}` }));
        const read = await timed(() => call(agent, door, READ, { id }));
        if (read.value['added'] !== n) throw new Error(`${id} wrote ${n} and read ${String(read.value['added'])}`);
        if (written.began < begin) continue;
        writes.push(written.ms);
        reads.push(read.ms);
      }
    };
    try {
      await Promise.all(Array.from({ length: WORKERS }, (_, w) => worker(w)));
    } finally {
      agent.destroy();
    }
    return [
      { what: `p50 in ms of a write, ${WORKERS} callers`, value: percentile(writes, 0.5) },
      { what: `p99 in ms of a write, ${WORKERS} callers`, value: percentile(writes, 0.99) },
      { what: `p50 in ms of the read behind it, ${WORKERS} callers`, value: percentile(reads, 0.5) },
      { what: `p99 in ms of the read behind it, ${WORKERS} callers`, value: percentile(reads, 0.99) },
    ];
  },
};

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; began: number; ms: number }> {
  const began = performance.now();
  const value = await work();
  return { value, began, ms: performance.now() - began };
}

async function call(agent: Agent, door: Door, name: string, args: object): Promise<Record<string, unknown>> {
  const answer = await post(agent, door.port, toolCall(door, name, args));
  const { result } = JSON.parse(answer) as {
    result?: { isError?: boolean; structuredContent?: Record<string, unknown> };
  };
  if (result === undefined || result.isError || !result.structuredContent) throw new Error(`${name} failed: ${answer}`);
  return result.structuredContent;
}

/** By the request's own head, over a connection that is kept. */
function post(agent: Agent, port: number, { head, body }: WireRequest): Promise<string> {
  const headers = Object.fromEntries(
    head
      .trim()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(/: (.*)/s, 2) as [string, string]),
  );
  const path = head.split(' ', 2)[1];
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => resolve(text)).once('error', reject);
    });
    sent.once('error', reject).end(body);
  });
}
