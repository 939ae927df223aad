import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ask, connectBus, type Bus } from '@cortex/bus';
import { PROVISIONER, type BusRequest, type BusUser, type ServiceName } from '@cortex/contracts';
import { freePort } from '@cortex/embedded/ports';
import { mcpEdgeService } from '@cortex/mcp-edge';
import { sessionService } from '@cortex/session';
import { waitpointService } from '@cortex/waitpoint';
import { CliError } from '../exit.js';
import { tailOf } from '../tail.js';
import { serviceEnvironment } from '../up/environment.js';
import { askReady } from '../up/ready.js';
import { startServiceProcess } from '../up/service-process.js';
import { percentile } from './figures.js';
import { startGround, type Ground } from './ground.js';
import { residentMiB } from './processes.js';
import type { Scenario } from './scenario.js';

const ARMED = 10_000;
const QUICK_ARMED = 400;
/** Below the quota of a session. */
const OF_ONE_SESSION = 180;
const ARMING_AT_ONCE = 16;
const SIGNALS = 2_000;
const QUICK_SIGNALS = 50;
/** Jobs that end at the same moment. */
const SIGNALLING_AT_ONCE = 4;
const SWEEP_MS = 1_000;
const SWEEPS = 5;
const READY_MS = 30_000;

/** What ten thousand armed waitpoints cost, and how long it takes from a signal until its session has the wake. */
export const waitpoints: Scenario = {
  name: 'waitpoints',
  what: `${ARMED} armed waitpoints: memory, sweep, and the way of a signal to its session`,
  async run({ quick, signal, tell }) {
    const count = quick ? QUICK_ARMED : ARMED;
    await using stack = new AsyncDisposableStack();
    const ground = stack.use(await startGround([mcpEdgeService, waitpointService, sessionService]));
    await startOne(ground, 'session', stack);
    const { pid, log } = await startOne(ground, 'waitpoint', stack);
    const bus = async (user: BusUser) => {
      const pass = ground.secrets.bus[user] ?? '';
      const one = await connectBus({ servers: ground.nats.url, user, pass, service: user, waitOnFirstConnect: false });
      stack.defer(() => one.close());
      return one;
    };
    const edge = await bus('mcp-edge');
    const sessions = await openSessions(await bus('waitpoint'), Math.ceil(count / OF_ONE_SESSION));
    const before = residentMiB(pid);

    tell(`  arming ${count}`);
    const armed: Armed[] = [];
    const began = performance.now();
    await atOnce(ARMING_AT_ONCE, count, async (n) => {
      signal.throwIfAborted();
      armed.push(await arm(edge, sessions[n % sessions.length]!, n));
    });
    const perArming = ((performance.now() - began) * ARMING_AT_ONCE) / count;

    tell('  sweeping');
    const sweeps = await sweepTimes(log, SWEEPS, signal);

    tell('  signalling');
    const watch = await bus(PROVISIONER);
    const signals = quick ? QUICK_SIGNALS : SIGNALS;
    const latencies = await signalAll(edge, watch, armed.slice(0, signals), signal);
    const limit = (bound: number) => ({ goal: { bound: 'at most' as const, limit: bound } });
    return [
      { what: `ms to arm one, ${ARMING_AT_ONCE} at once`, value: perArming },
      { what: `MiB that ${count} armed waitpoints add`, value: residentMiB(pid) - before },
      { what: `ms of a sweep over ${count} armed waitpoints, median`, value: percentile(sweeps, 0.5) },
      { what: 'p50 in ms from signal to wake delivered', value: percentile(latencies, 0.5) },
      { what: 'p99 in ms from signal to wake delivered', value: percentile(latencies, 0.99), ...limit(100) },
    ];
  },
};

interface Armed {
  id: string;
  secret: string;
}
interface OpenSession {
  session_id: string;
  channel: string;
}

async function startOne(ground: Ground, name: ServiceName, stack: AsyncDisposableStack) {
  const { home, state, secrets, log } = ground;
  const port = await freePort();
  const settings = {
    ...process.env,
    CORTEX_OPS_PORT: String(port),
    CORTEX_LOG_LEVEL: 'debug',
    CORTEX_WAITPOINT_SWEEP_MS: String(SWEEP_MS),
  };
  const env = { ...serviceEnvironment([name], home, state, secrets, settings), CORTEX_OPS_PORT: String(port) };
  const running = startServiceProcess({ services: [name], env, logFile: log(name), port, begin: Promise.resolve() });
  stack.defer(() => running.kill());
  for (const end = Date.now() + READY_MS; !(await askReady(`http://127.0.0.1:${port}`)).ready;) {
    if (Date.now() > end) throw new CliError(`${name} is not ready:\n${tailOf(log(name), 15)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { pid: running.pid, log: log(name) };
}

const requestOf = (args: Record<string, unknown>, more: Partial<BusRequest> = {}): BusRequest => ({
  v: 1,
  call_id: randomUUID(),
  workspace_id: null,
  principal: { type: 'system', id: 'bench', roles: [] },
  scope: {},
  args,
  deadline_ms: 30_000,
  ...more,
});

/** A message for a channel makes a session there. */
function openSessions(bus: Bus, count: number): Promise<OpenSession[]> {
  const open = async (n: number) => {
    const channel = `web:bench-${n}`;
    const message = { channel, text: 'begin', origin: 'external-signal', tag: `bench-${n}` };
    const { data } = await ask(bus, 'cortex.cmd.session.deliver', requestOf(message));
    return { session_id: (data as OpenSession).session_id, channel };
  };
  return Promise.all(Array.from({ length: count }, (_, n) => open(n)));
}

async function arm(edge: Bus, { session_id, channel }: OpenSession, n: number): Promise<Armed> {
  const request = requestOf(
    { label: `job ${n}`, intent: `compare the result of job ${n} with the one before, then tell what changed` },
    { principal: { type: 'agent', id: session_id, roles: [] }, scope: { session_id, channel, project: 'general' } },
  );
  const reply = await edge.request('cortex.tool.waitpoint.wait_create', JSON.stringify(request), { timeoutMs: 31_000 });
  const text = reply.string();
  const end = text.indexOf('\n');
  if (!text.startsWith('{"ok":true')) throw new Error(`wait_create failed: ${text.slice(0, 500)}`);
  return (JSON.parse(`{${text.slice(end + 1)}}`) as { structuredContent: Armed }).structuredContent;
}

/** Runs `work` for 0 to `count` - 1, so many at a time. */
async function atOnce(workers: number, count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

/** Of the next sweeps, as the service says them. */
async function sweepTimes(log: string, wanted: number, signal: AbortSignal): Promise<number[]> {
  const times = () => [...readFileSync(log, 'utf8').matchAll(/"ms":(\d+).*"msg":"swept"/g)].map(([, ms]) => Number(ms));
  const known = times().length;
  for (;;) {
    signal.throwIfAborted();
    const found = times().slice(known);
    if (found.length >= wanted) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** From the moment that a signal leaves until the delivery of its wake is on record. */
async function signalAll(edge: Bus, watch: Bus, armed: readonly Armed[], signal: AbortSignal): Promise<number[]> {
  const sent = new Map<string, number>();
  const told = new Map<string, () => void>();
  const latencies: number[] = [];
  const seen = watch.subscribe('cortex.evt.waitpoint.*.waitpoint.*', (message) => {
    const id = message.subject.slice(message.subject.lastIndexOf('.') + 1);
    const began = sent.get(id);
    if (began === undefined || !message.string().includes('"WaitpointWakeDelivered"')) return;
    latencies.push(performance.now() - began);
    told.get(id)?.();
  });
  await atOnce(SIGNALLING_AT_ONCE, armed.length, async (n) => {
    signal.throwIfAborted();
    const { id, secret } = armed[n]!;
    const delivered = new Promise<void>((resolve) => told.set(id, resolve));
    sent.set(id, performance.now());
    const args = { id, secret, status: 'ok', message: 'exit=0', source: 'webhook' };
    const { data } = await ask(edge, 'cortex.cmd.waitpoint.signal', requestOf(args));
    if ((data as { http: number }).http !== 202) throw new Error(`a signal was refused: ${JSON.stringify(data)}`);
    await delivered;
  });
  seen.unsubscribe();
  return latencies;
}
