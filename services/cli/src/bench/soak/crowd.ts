import { setTimeout as sleep } from 'node:timers/promises';
import { McpClient, type Revision } from './client.js';

/** Somebody with a workspace; as many as need be share them, so that no caller meets the bounds of one person. */
export interface Team {
  token: string;
  workspace_id: string;
}

/** What the crowd is told; its first message. */
export interface CrowdOrder {
  port: number;
  teams: Team[];
  clients: number;
  /**
   * `mixed`: they come, call what there is, leave and come anew. `sessions` and `streams`: each opens a session, the latter a
   * stream too, and keeps it without a call.
   */
  kind: 'mixed' | 'sessions' | 'streams';
  /** Of all clients together; null: each sends its next request when it has the answer to the last. */
  requestsPerSecond: number | null;
  /** Requests after the handshake until a client leaves; some stay half as long, some longer by half. */
  callsOfLife: number;
}

/** What the crowd can be asked at any time. */
export type CrowdQuestion = 'figures' | 'leave';

/** Since the last time that somebody asked. */
export interface CrowdFigures {
  seconds: number;
  requests: number;
  p50_ms: number;
  p99_ms: number;
  /** How often a client has come, handshake and stream included. */
  lives: number;
  /** Clients that are connected now. */
  here: number;
  failed: number;
  /** Of the first failures, in words. */
  failures: string[];
}

/** A client that failed comes anew after this long. */
const PAUSE_MS = 1_000;
const TOLD_FAILURES = 5;
/** They do not all come in the same moment. */
const ARRIVALS_PER_S = 200;

/** Clients of all revisions, each with a life of its own. */
export class Crowd {
  readonly #order: CrowdOrder;
  readonly #clients: Promise<void>[];
  #leaving = false;
  readonly #left = Promise.withResolvers<void>();
  #since = performance.now();
  #times: number[] = [];
  #lives = 0;
  #here = 0;
  #failed = 0;
  #failures: string[] = [];

  constructor(order: CrowdOrder) {
    this.#order = order;
    this.#clients = Array.from({ length: order.clients }, (_, n) => this.#client(n));
  }

  figures(): Omit<CrowdFigures, 'p50_ms' | 'p99_ms'> & { times: number[] } {
    const seconds = (performance.now() - this.#since) / 1000;
    const { length: requests } = this.#times;
    const told = { seconds, requests, lives: this.#lives, here: this.#here, failed: this.#failed };
    const since = { ...told, failures: this.#failures, times: this.#times };
    this.#since = performance.now();
    [this.#times, this.#lives, this.#failed, this.#failures] = [[], 0, 0, []];
    return since;
  }

  /** Resolves when everybody has gone in order. */
  async leave(): Promise<void> {
    this.#leaving = true;
    this.#left.resolve();
    await Promise.all(this.#clients);
  }

  async #client(n: number): Promise<void> {
    await this.#pause((n / ARRIVALS_PER_S) * 1000);
    for (let life = 0; !this.#leaving; life++) {
      try {
        await this.#live(n, life);
      } catch (error) {
        this.#failed++;
        if (this.#failures.length < TOLD_FAILURES)
          this.#failures.push(`${new Date().toISOString()} client ${n}, life ${life}: ${String(error)}`);
        await this.#pause(PAUSE_MS);
      }
    }
  }

  /** One visit of a client, from its handshake until it has gone in order. */
  async #live(n: number, life: number): Promise<void> {
    const { port, teams, kind } = this.#order;
    const team = teams[n % teams.length] as Team;
    const client = new McpClient({ port, token: team.token, ...manner(kind, n, teams.length) });
    this.#here++;
    try {
      await this.#timed(() => client.connect());
      this.#lives++;
      if (kind === 'mixed') await this.#work(client, team, n, life);
      else await this.#left.promise;
    } catch (error) {
      // How it goes then is not what failed first.
      await client.leave().catch(() => undefined);
      throw error;
    } finally {
      this.#here--;
    }
    await client.leave();
  }

  async #work(client: McpClient, team: Team, n: number, life: number): Promise<void> {
    const { requestsPerSecond, clients, callsOfLife } = this.#order;
    const period = requestsPerSecond === null ? 0 : (clients / requestsPerSecond) * 1000;
    const calls = Math.ceil(callsOfLife * (0.5 + ((n * 7 + life * 3) % 11) / 10));
    const work = { ticket: '' };
    // The first one comes at some moment of its period, and each has its own.
    let due = performance.now() + period * ((n * 0.618) % 1);
    for (let k = 0; k < calls; k++) {
      await this.#pause(due - performance.now());
      if (this.#leaving) return;
      await this.#timed(() => turn(client, team, work, k, `load ${n} ${life} ${k}`));
      // Who is late does not send all that it has missed at once.
      due = Math.max(due + period, performance.now() - period);
    }
  }

  async #timed(work: () => Promise<unknown>): Promise<void> {
    const began = performance.now();
    await work();
    this.#times.push(performance.now() - began);
  }

  /** Ends early when everybody is to leave. */
  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    const timer = new AbortController();
    await Promise.race([sleep(ms, undefined, { signal: timer.signal }).catch(() => undefined), this.#left.promise]);
    timer.abort();
  }
}

/** Half have sessions, of both revisions that have them; of these every second one holds a stream, of the others one in eight. */
function manner(kind: CrowdOrder['kind'], n: number, teams: number): { revision: Revision; stream: boolean } {
  if (kind !== 'mixed') return { revision: '2025-11-25', stream: kind === 'streams' };
  // Clients n, n + teams, ... are of one person: each has some of all.
  const of = Math.floor(n / teams) + (n % teams);
  if (of % 2 === 1) return { revision: '2026-07-28', stream: of % 16 === 1 };
  return { revision: of % 4 === 0 ? '2025-11-25' : '2025-06-18', stream: of % 8 < 4 };
}

/** Of ten requests: one change, three reads of the own ticket, one list of tickets, one of tools, the time otherwise. */
const TURNS = ['get', 'time', 'update', 'time', 'get', 'tools', 'time', 'tickets', 'get', 'time'] as const;

/** A life begins with a ticket of its own. */
async function turn(client: McpClient, team: Team, work: { ticket: string }, k: number, title: string): Promise<void> {
  const { workspace_id } = team;
  if (k === 0) {
    const { ticket_id } = await client.call('create_ticket', { workspace_id, title });
    work.ticket = String(ticket_id);
    return;
  }
  const { ticket: ticket_id } = work;
  switch (TURNS[k % TURNS.length]) {
    case 'get':
      await client.call('get_ticket', { workspace_id, ticket_id });
      break;
    case 'update':
      await client.call('update_ticket', { workspace_id, ticket_id, title });
      break;
    case 'tickets':
      await client.call('list_tickets', { workspace_id, limit: 5 });
      break;
    case 'tools':
      await client.request('tools/list', {});
      break;
    case 'time':
    case undefined:
      await client.call('current_time', {});
  }
}
