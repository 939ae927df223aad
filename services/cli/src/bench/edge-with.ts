import { mcpEdgeService } from '@cortex/mcp-edge';
import type { ServiceDefinition } from '@cortex/service-kit';
import { CliError } from '../exit.js';
import { tailOf } from '../tail.js';
import { makeToken } from '../token.js';
import { serviceEnvironment } from '../up/environment.js';
import { askReady } from '../up/ready.js';
import { startServiceProcess } from '../up/service-process.js';
import { startGround, type Ground } from './ground.js';
import { startProgram } from './processes.js';
import { listOf, type Door } from './request.js';
import { send } from './send.js';

/** An edge as a process of its own, wired by the launcher's own parts. */
export interface Edge extends AsyncDisposable {
  ground: Ground;
  door: Required<Door>;
  edge: number;
  sink: number;
  /** What the other processes of this ground are given too. */
  settings: NodeJS.ProcessEnv;
  /** Resolves when the edge is ready and lists this tool. */
  lists(this: void, tool: string): Promise<void>;
}

/** The same with one service beside it, whose tool it lists. */
export interface EdgeWith extends Omit<Edge, 'settings' | 'lists'> {
  service: number;
}

const READY_MS = 30_000;

/** `scopes` are those of the token that comes with it; without them it is the owner's. */
export async function startEdge(
  services: readonly ServiceDefinition[],
  env: Record<string, string>,
  scopes?: string,
): Promise<Edge> {
  await using stack = new AsyncDisposableStack();
  const ground = stack.use(await startGround([mcpEdgeService, ...services]));
  const { home, state, secrets, log } = ground;
  const sink = stack.use(await startProgram('otlp-sink.js'));
  // Everything on as shipped; only the limit of the limiter is out of reach.
  const settings = {
    ...process.env,
    CORTEX_RATE_LIMIT_PER_MINUTE: '1000000000',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${Number(sink.said['port'])}`,
    ...env,
  };
  const { public: port } = state.ports;
  const edge = startServiceProcess({
    services: ['mcp-edge'],
    env: serviceEnvironment(['mcp-edge'], home, state, secrets, settings),
    logFile: log('mcp-edge'),
    port,
    begin: Promise.resolve(),
  });
  stack.defer(() => edge.kill());
  const door = { port, token: makeToken(home, {}, { ...(scopes !== undefined && { scopes }) }) };
  const cleanUp = stack.move();
  return {
    ground,
    door,
    edge: edge.pid,
    sink: sink.pid,
    settings,
    async lists(tool) {
      await until('ready', log('mcp-edge'), async () => (await askReady(`http://127.0.0.1:${port}`)).ready);
      await until(`listing ${tool}`, log('mcp-edge'), async () =>
        (await send(port, listOf(door).request)).includes(`"${tool}"`),
      );
    },
    [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
  };
}

/** `program` runs the service and is given `argv`; `tool` is one of its tools, whose listing is waited for. */
export async function startEdgeWith(
  definition: ServiceDefinition,
  program: { file: string; argv: string[]; tool: string },
  env: Record<string, string> = {},
): Promise<EdgeWith> {
  await using stack = new AsyncDisposableStack();
  const { settings, lists, ...running } = stack.use(await startEdge([definition], env));
  const { home, state, secrets } = running.ground;
  const ownEnv = serviceEnvironment([definition.name], home, state, secrets, settings);
  const service = await startProgram(program.file, program.argv, { env: { ...ownEnv, CORTEX_OPS_PORT: '0' } });
  stack.use(service);
  await lists(program.tool);
  const cleanUp = stack.move();
  return { ...running, service: service.pid, [Symbol.asyncDispose]: () => cleanUp.disposeAsync() };
}

/** Asks until the answer is yes; a no for too long is told with the last lines of the log. */
export async function until(
  what: string,
  log: string,
  check: () => Promise<boolean>,
  limitMs = READY_MS,
): Promise<void> {
  for (const end = Date.now() + limitMs; Date.now() < end;) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new CliError(`not ${what} after ${limitMs / 1000} s:\n${tailOf(log, 15)}`);
}
