import { subjects } from '@cortex/contracts';
import { recordCheck } from './call-records.js';
import { startEdge } from './edge-with.js';
import { type Started, startProgram } from './processes.js';
import { callOf, contractCallOf, listOf, TOOL } from './request.js';
import type { Running, Target } from './targets.js';

/** Of whoever may list and call the tools of the backend. */
export const SCOPES = 'mcp:cortex:read mcp:bench:read';

/** The backend of the bench as a process of its own, with so many tools. */
export const startBackend = (tools = 1): Promise<Started> => startProgram('floor-backend.js', [String(tools)]);
const portOf = ({ said }: Started): number => Number(said['port']);
/** Where a started program of the bench listens. */
export const urlOf = (server: Started): string => `http://127.0.0.1:${portOf(server)}`;

/** The backend asked by the load itself. */
export const directTarget = (name: string, what: string): Target => ({
  name,
  what,
  async start() {
    const backend = await startBackend();
    const port = portOf(backend);
    const dispose = () => backend[Symbol.asyncDispose]();
    return { ...contractCallOf(port), port, server: backend.pid, helpers: {}, [Symbol.asyncDispose]: dispose };
  },
});

/** The same backend behind the barest hop that Node can make. */
export const proxyTarget = (name: string, what: string): Target => ({
  name,
  what,
  async start() {
    await using stack = new AsyncDisposableStack();
    const backend = stack.use(await startBackend());
    const proxy = stack.use(await startProgram('floor-proxy.js', [urlOf(backend)]));
    const port = portOf(proxy);
    const cleanUp = stack.move();
    return {
      ...contractCallOf(port),
      port,
      server: proxy.pid,
      helpers: { backend: backend.pid },
      [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
    };
  },
});

export interface GatewaySettings {
  name: string;
  what: string;
  /** Tools of the backend. */
  tools?: number;
  /** It is asked for its list, not for an echo. */
  list?: true;
}

/** Cortex in front of the same backend, in a fresh home for every visit. */
export const gatewayTarget = ({ name, what, tools = 1, list }: GatewaySettings): Target => ({
  name,
  what,
  async start() {
    await using stack = new AsyncDisposableStack();
    const backend = stack.use(await startBackend(tools));
    const { ground, door, sink, ...edge } = stack.use(await startEdge([], backendEnv(urlOf(backend)), SCOPES));
    await edge.lists(TOOL);
    const records = stack.use(await recordCheck(ground, subjects.call('mcp-edge', TOOL)));
    const cleanUp = stack.move();
    return {
      ...(list ? listOf(door) : callOf(door)),
      port: door.port,
      server: edge.edge,
      helpers: { backend: backend.pid, broker: ground.nats.pid, sink },
      ...(!list && { verify: (answers: number) => records.compare(name, answers) }),
      [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
    } satisfies Running;
  },
});

/** Its tool `echo` is offered under the name that the bench calls. */
export const backendEnv = (url: string): Record<string, string> => ({
  CORTEX_BACKENDS: 'bench',
  CORTEX_BACKEND_BENCH_URL: url,
});
