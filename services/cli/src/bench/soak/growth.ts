import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommitEnvelope } from '@cortex/contracts';
import { subjects } from '@cortex/contracts';
import type { TicketEvent } from '@cortex/contracts/ticket';
import { projectionStatus, rebuildProjection } from '@cortex/eventstore';
import { gatewayTarget } from '../gateway-targets.js';
import { fill, type Commit } from '../rebuild-rate.js';
import type { Finding } from '../scenario.js';
import { visit, type Times } from '../visit.js';
import { startCallers, type Callers } from './callers.js';
import { needTeams } from './teams.js';
import { Whole } from './whole.js';

export interface GrowthPlan {
  tools: readonly number[];
  sessions: number;
  events: readonly number[];
  times: Times;
  /** After which memory is looked at. */
  settleMs: number;
}

interface Ways {
  signal: AbortSignal;
  tell: (line: string) => void;
}

const CONNECTIONS = 16;
/** Memory of a process whose collector has not run holds what nobody needs any more. */
const LOOKS = 5;

/** How the cost grows with tools, open sessions and events on the log. */
export async function growth(plan: GrowthPlan, ways: Ways): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const tools of plan.tools) findings.push(...(await withTools(tools, plan, ways)));
  findings.push(...(await withSessions(plan, ways)));
  for (const events of plan.events) findings.push(...(await withEvents(events, plan, ways)));
  return findings;
}

/** Of a backend: one service does not offer so many. */
async function withTools(tools: number, { times }: GrowthPlan, { signal, tell }: Ways): Promise<Finding[]> {
  const many = `${count(tools)} ${tools === 1 ? 'tool' : 'tools'}`;
  tell(`  ${many}`);
  const called = await visit(gatewayTarget({ name: 'call', what: '', tools }), CONNECTIONS, 0, times, signal);
  // A list of many is slow: what is needed to warm it up is bounded by time.
  const listed = await visit(
    gatewayTarget({ name: 'list', what: '', tools, list: true }),
    CONNECTIONS,
    0,
    times,
    signal,
  );
  const of = `with ${many}`;
  return [
    { what: `CPU in µs of the edge per call ${of}`, value: called.cpu_us },
    { what: `CPU in µs of the edge per list ${of}`, value: listed.cpu_us },
    { what: `MiB of the edge under calls ${of}`, value: called.resident_mib },
  ];
}

/** Open ones that do nothing, without a stream and with one each. */
async function withSessions({ sessions, settleMs }: GrowthPlan, { signal, tell }: Ways): Promise<Finding[]> {
  tell(`  ${count(sessions)} open sessions`);
  const findings: Finding[] = [];
  for (const kind of ['sessions', 'streams'] as const) {
    // A fresh one for each: the second kind would find the room that the first one left.
    await using whole = await Whole.start(signal);
    const teams = await needTeams(whole, sessions);
    const before = await memoryOf(whole, settleMs);
    const order = { port: whole.port, teams, clients: sessions, kind, requestsPerSecond: null, callsOfLife: 0 };
    await using callers = startCallers(order, signal);
    await allHere(whole, callers, sessions);
    const after = await memoryOf(whole, settleMs);
    const { failed, failures } = await callers.leave();
    if (failed > 0) throw new Error(`${failed} sessions could not be closed: ${failures[0]}`);
    const with_ = kind === 'streams' ? 'with an open stream' : 'without a stream';
    const grown = (part: 'edge' | 'broker') => ((after[part] - before[part]) / sessions) * 1024;
    findings.push(
      { what: `KiB of the edge per open session ${with_}`, value: grown('edge') },
      { what: `KiB of the broker per open session ${with_}`, value: grown('broker') },
    );
  }
  return findings;
}

async function withEvents(events: number, { settleMs }: GrowthPlan, { signal, tell }: Ways): Promise<Finding[]> {
  const of = `with ${count(events)} events`;
  tell(`  ${count(events)} events on the log`);
  await using whole = await Whole.prepare(signal);
  const tickets = Math.max(1, Math.floor(events / EVENTS_OF_TICKET));
  await whole.onBus((bus) => fill(bus, events, (n) => ticketCommit(n, tickets), signal));
  await whole.begin('services');
  tell('    the views catch up');
  const caughtUp = await catchUp(whole, signal);
  // Again, now that the views are there: that is how it starts after any stop.
  await whole.stop('services');
  const services = await whole.begin('services');
  const edge = await whole.begin('edge');
  const memory = await memoryOf(whole, settleMs);
  await whole.stop('edge');
  await whole.stop('services');
  tell('    a view is rebuilt');
  const began = performance.now();
  await whole.onBus(async (bus) => {
    const { service, projection } = ticketView(whole);
    const { adminUrl } = whole.ground;
    const { applied } = await rebuildProjection({ bus, adminUrl, service, projection, signal });
    if (applied !== events) throw new Error(`${events} events were published, ${applied} were applied`);
  });
  const rebuilt = (performance.now() - began) / 1000;
  return [
    { what: `s until a view of nothing has caught up ${of}`, value: caughtUp },
    { what: `s of a rebuild of that view ${of}`, value: rebuilt },
    { what: `s of a cold start of the services ${of}`, value: services / 1000 },
    { what: `s of a cold start of the edge ${of}`, value: edge / 1000 },
    ...Object.entries(memory).map(([part, value]) => ({ what: `MiB of ${part} at rest ${of}`, value })),
  ];
}

function ticketView({ definitions }: Whole) {
  const service = definitions.find(({ name }) => name === 'ticket');
  const projection = service?.projections?.find(({ name }) => name === 'tickets_v1');
  if (service === undefined || projection === undefined) throw new Error('the service ticket has no view tickets_v1');
  return { service, projection };
}

/** Seconds until the view has all that is on the log. */
async function catchUp(whole: Whole, signal: AbortSignal): Promise<number> {
  const began = performance.now();
  const { service, projection } = ticketView(whole);
  await whole.onBus(async (bus) => {
    for (;;) {
      signal.throwIfAborted();
      const status = await projectionStatus({ bus, adminUrl: whole.ground.adminUrl, services: [service] });
      if (status.some((one) => one.projection === projection.name && one.pending === 0)) return;
      await sleep(100);
    }
  });
  return (performance.now() - began) / 1000;
}

/** Resolves when all clients have come. */
async function allHere(whole: Whole, callers: Callers, clients: number): Promise<void> {
  for (let lives = 0; lives < clients;) {
    const figures = await callers.figures();
    if (figures.failed > 0) throw new Error(`a client could not come: ${figures.failures[0]}`);
    lives += figures.lives;
    await whole.pause(100);
  }
}

/** The least that each part had in some looks. */
async function memoryOf(whole: Whole, settleMs: number) {
  let least = whole.memory();
  for (let n = 0; n < LOOKS; n++) {
    await whole.pause(settleMs / LOOKS);
    const now = whole.memory();
    const min = (part: keyof typeof now) => Math.min(least[part], now[part]);
    least = { edge: min('edge'), services: min('services'), broker: min('broker'), postgres: min('postgres') };
  }
  return least;
}

const EVENTS_OF_TICKET = 5;
const WORKSPACE = 'growth';

/** The first `tickets` of them make a ticket each, the others change them in turn. */
function ticketCommit(n: number, tickets: number): Commit {
  const ticket_id = `ticket-${n % tickets}`;
  const id = randomUUID();
  const commit: CommitEnvelope = {
    commit_id: id,
    at: new Date(1_700_000_000_000 + n * 1000).toISOString(),
    actor: { kind: 'user', id: 'per_bench' },
    workspace: WORKSPACE,
    correlation_id: id,
    causation_id: id,
    events: [{ ...eventOf(n, ticket_id, n < tickets), version: 1 }],
  };
  return { subject: subjects.event('ticket.ticket', WORKSPACE, ticket_id), body: JSON.stringify(commit), id };
}

function eventOf(n: number, ticket_id: string, first: boolean): TicketEvent {
  const title = `The quick brown fox jumps over the lazy dog ${n} times`;
  if (!first) return { type: 'TicketDetailsUpdated', data: { ticket_id, changes: { title } } };
  return {
    type: 'TicketCreated',
    data: {
      ticket_id,
      key: `T-${n + 1}`,
      provider: 'local',
      title,
      description: null,
      priority: 0,
      labels: [],
      status: 'open',
      assignee_id: null,
      team_id: null,
      parent_ticket_id: null,
      space_id: null,
      origin_kind: 'manual',
      delegated_by_agent_id: null,
      delegation_depth: 0,
      delegation_root_ticket_id: null,
      pipeline_run_id: null,
      pipeline_step_id: null,
    },
  };
}

const count = (value: number): string => value.toLocaleString('en');
