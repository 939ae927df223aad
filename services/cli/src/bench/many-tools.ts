import { startEdge } from './edge-with.js';
import { percentile } from './figures.js';
import { backendEnv, SCOPES, startBackend, urlOf } from './gateway-targets.js';
import { cpuSeconds } from './processes.js';
import { listOf, TOOL, toolCall } from './request.js';
import { send } from './send.js';
import type { Finding, Scenario } from './scenario.js';

/** Tools of the backend. */
export const MANY = 2_000;
const ASKED = 30;
const REFRESHES = 20;
const EVENT_TOKEN = 'of-the-bench';
const PAUSE_MS = 150;

/** What a backend with very many tools costs whoever lists, searches or asks why, and each turn in which it has nothing new. */
export const manyTools: Scenario = {
  name: 'many-tools',
  what: `a backend with ${MANY} tools: list, search, explain, and a refresh that changes nothing`,
  async run({ quick, signal }) {
    const asked = quick ? 5 : ASKED;
    await using backend = await startBackend(MANY);
    const env = { ...backendEnv(urlOf(backend)), CORTEX_BACKEND_BENCH_EVENT_TOKEN: EVENT_TOKEN };
    await using edge = await startEdge([], env, SCOPES);
    await edge.lists(TOOL);
    const { door, ground } = edge;
    const origin = `http://127.0.0.1:${door.port}`;
    const list = listOf(door).request;
    const search = toolCall(door, 'find_tools', { query: 'invoice number 70' });
    const question = { tool: TOOL, token: door.token };
    const explain = () =>
      post(`${origin}/api/admin/explain`, { 'x-cortex-admin-secret': ground.secrets.admin_secret }, question);

    const bytes = Buffer.byteLength(await send(door.port, list));
    const lists = await times(asked, () => send(door.port, list), signal);
    const searches = await times(asked, () => send(door.port, search), signal);
    const explained = await times(asked, explain, signal);
    const before = cpuSeconds(edge.edge);
    const events = { events: [{ type: 'list_changed', kinds: ['tools'] }] };
    const told = `${origin}/api/backends/bench/events`;
    for (let n = 0; n < REFRESHES; n++) {
      await post(told, { authorization: `Bearer ${EVENT_TOKEN}` }, events);
      // Those that come while one runs share the next.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      signal.throwIfAborted();
    }
    const perRefresh = ((cpuSeconds(edge.edge) - before) / REFRESHES) * 1000;
    const p50 = (what: string, all: readonly number[]): Finding => ({
      what: `p50 in ms of ${what} with ${MANY} tools`,
      value: percentile(all, 0.5),
    });
    return [
      { what: `KiB of a list of ${MANY} tools`, value: bytes / 1024 },
      p50('tools/list', lists),
      p50('find_tools', searches),
      p50('explain', explained),
      { what: `CPU in ms of a refresh of ${MANY} tools that changes nothing`, value: perRefresh },
    ];
  },
};

async function times(count: number, work: () => Promise<unknown>, signal: AbortSignal): Promise<number[]> {
  const all: number[] = [];
  for (let n = 0; n < count; n++) {
    signal.throwIfAborted();
    const began = performance.now();
    await work();
    all.push(performance.now() - began);
  }
  return all;
}

async function post(url: string, headers: Record<string, string>, body: object): Promise<void> {
  const type = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
}
