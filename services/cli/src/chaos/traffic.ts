import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { DEFAULT_WORKSPACE } from '../up/default-workspace.js';
import type { Address } from './link.js';

const PROTOCOL = '2026-07-28';
const CALLERS = 12;
const PAUSE_MS = 50;
const SETTLE_TRIES = 600;
/** A caller gives up on an answer, asks the other edge, and with the same key: what it is told counts once. */
const PATIENCE_MS = 15_000;

/** A change that its caller was told of. */
export interface Told {
  tool: string;
  ticket_id: string;
  /** Of `create_ticket` and `update_ticket`; unique. */
  title: string;
}

export interface TrafficOptions {
  edges: readonly Address[];
  /** `host:port` of the endpoint that both edges stand for. */
  named: string;
  token: string;
}

interface Answered {
  ok: boolean;
  /** Of a refusal. */
  kind?: string;
  text: string;
  data?: Record<string, unknown>;
}

/**
 * Callers that create, change, read and list tickets and ask the time, one call after the other, by turns at every edge. A call that is not
 * answered is sent again under its key until it is.
 */
export class Traffic {
  readonly told: Told[] = [];
  /** Refusals that no fault explains: whatever is not `unavailable` or the like. */
  readonly surprises: string[] = [];
  calls = 0;
  refused = 0;
  /** When each answer that was good came, in milliseconds of `performance.now()`. */
  readonly #good: number[] = [];
  #stopped = false;
  readonly #callers: Promise<void>[];

  constructor(private readonly options: TrafficOptions) {
    this.#callers = Array.from({ length: CALLERS }, (_, n) => this.#caller(n));
  }

  /** Milliseconds of the longest time without a good answer since `from`. */
  gapSince(from: number): number {
    let last = from;
    let gap = 0;
    for (const at of this.#good) {
      if (at < from) continue;
      gap = Math.max(gap, at - last);
      last = at;
    }
    return Math.max(gap, performance.now() - last);
  }

  /** Resolves when so many more calls were answered well; false when that took too long. */
  async more(count: number, limitMs: number): Promise<boolean> {
    const goal = this.#good.length + count;
    const until = performance.now() + limitMs;
    while (this.#good.length < goal) {
      if (performance.now() > until) return false;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return true;
  }

  /** Every edge in turn, until each has made a ticket: what was just set up is known to all of them. */
  static async settled(options: TrafficOptions): Promise<void> {
    for (const edge of options.edges) {
      for (let tries = 0; ; tries++) {
        const args = { workspace_id: DEFAULT_WORKSPACE, title: `settled ${edge.port} ${tries}` };
        const answer = await send(edge, options, 'create_ticket', args, randomUUID());
        if (answer.ok) break;
        if (tries === SETTLE_TRIES)
          throw new Error(`the edge at ${edge.host}:${edge.port} makes no ticket: ${answer.text}`);
        await pause();
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#callers);
  }

  async #caller(n: number): Promise<void> {
    const mine: string[] = [];
    for (let turn = n; !this.#stopped; turn++) {
      const workspace_id = DEFAULT_WORKSPACE;
      const ticket_id = mine.at(-1);
      const title = `chaos ${n} ${turn} ${randomUUID().slice(0, 8)}`;
      const kind = ticket_id === undefined ? 0 : turn % 5;
      if (kind === 0) {
        const made = await this.#call('create_ticket', { workspace_id, title });
        if (made === undefined) continue;
        const id = String(made['ticket_id']);
        mine.push(id);
        this.told.push({ tool: 'create_ticket', ticket_id: id, title });
      } else if (kind === 1) {
        const changed = await this.#call('update_ticket', { workspace_id, ticket_id, title });
        if (changed !== undefined) this.told.push({ tool: 'update_ticket', ticket_id: String(ticket_id), title });
      } else if (kind === 2) await this.#call('get_ticket', { workspace_id, ticket_id });
      else if (kind === 3) await this.#call('list_tickets', { workspace_id, limit: 5 });
      else await this.#call('current_time', {});
      await pause();
    }
  }

  /** Sent until it is answered well, at every edge in turn; undefined when it never was. */
  async #call(tool: string, args: Record<string, unknown>): Promise<Record<string, unknown> | undefined> {
    const key = randomUUID();
    for (let turn = this.calls; ; turn++) {
      this.calls++;
      const { edges } = this.options;
      const edge = edges[turn % edges.length] as Address;
      const answer = await send(edge, this.options, tool, args, key);
      if (answer.ok) {
        this.#good.push(performance.now());
        return answer.data ?? {};
      }
      this.refused++;
      if (!PASSING.has(answer.kind ?? '')) {
        this.surprises.push(`${tool}: ${answer.kind ?? 'no kind'}: ${answer.text.slice(0, 200)}`);
        return undefined;
      }
      // Nobody knows whether it was done; the check finds out whether it was done twice.
      if (this.#stopped) return undefined;
      await pause();
    }
  }
}

function send(
  { host, port }: Address,
  { named, token }: Pick<TrafficOptions, 'named' | 'token'>,
  tool: string,
  args: Record<string, unknown>,
  key: string,
): Promise<Answered> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': PROTOCOL,
    'io.modelcontextprotocol/clientCapabilities': {},
    'cortex/idempotencyKey': key,
  };
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: tool, arguments: args, _meta },
  });
  const headers = {
    host: named,
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json',
    'mcp-protocol-version': PROTOCOL,
    'mcp-method': 'tools/call',
    'mcp-name': tool,
  };
  return new Promise((resolve) => {
    const gone = (error: Error): void => resolve({ ok: false, kind: 'connection', text: error.message });
    const signal = AbortSignal.timeout(PATIENCE_MS);
    request({ host, port, path: '/mcp', method: 'POST', headers, signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', gone);
      response.once('end', () => resolve(readAnswer(response.statusCode ?? 0, Buffer.concat(chunks).toString())));
    })
      .once('error', gone)
      .end(body);
  });
}

/** What a caller is told while something is away, and what it does not see of a call that it sent again. */
const PASSING = new Set(['connection', 'http', 'unavailable', 'deadline_exceeded', 'conflict', 'resource_exhausted']);

function readAnswer(status: number, text: string): Answered {
  // Of a process that stops, and of a view that is behind. Any other fault has to say its kind.
  if (status === 503) return { ok: false, kind: 'http', text: `${status} ${text}` };
  try {
    const { result, error } = JSON.parse(text) as {
      error?: { message?: string; data?: { kind?: string } };
      result?: {
        isError?: boolean;
        content?: { text?: string }[];
        structuredContent?: Record<string, unknown>;
        _meta?: Record<string, { kind?: string }>;
      };
    };
    if (result === undefined) return { ok: false, kind: error?.data?.kind, text: error?.message ?? text };
    if (result.isError !== true) return { ok: true, text: '', data: result.structuredContent };
    return { ok: false, kind: result._meta?.['cortex/error']?.kind, text: result.content?.[0]?.text ?? '' };
  } catch {
    return { ok: false, kind: 'no JSON', text: `${status} ${text}` };
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
