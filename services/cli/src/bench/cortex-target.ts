import { subjects } from '@cortex/contracts';
import { recordCheck } from './call-records.js';
import { echoService } from './echo.js';
import { startEdgeWith } from './edge-with.js';
import { callOf, listOf, TOOL } from './request.js';
import type { Running, Target } from './targets.js';

export interface CortexSettings {
  name: string;
  what: string;
  /** Of the edge and the echo service. */
  env?: Record<string, string>;
  /** Tools in the catalog. */
  tools?: number;
  /** The reply is the text so many times over. */
  times?: number;
  /** It is asked for its list, not for an echo. */
  list?: true;
}

/** The edge and an echo service beside it, in a fresh home for every visit. */
export const cortexTarget = ({ name, what, env = {}, tools = 1, times, list }: CortexSettings): Target => ({
  name,
  what,
  async start() {
    await using stack = new AsyncDisposableStack();
    const service = echoService(tools);
    const program = { file: 'service-main.js', argv: ['echo', String(tools)], tool: TOOL };
    const { ground, door, ...pids } = stack.use(await startEdgeWith(service, program, env));
    const records = stack.use(await recordCheck(ground, subjects.call(service.name, TOOL)));
    const cleanUp = stack.move();
    return {
      ...(list ? listOf(door) : callOf(door, times)),
      port: door.port,
      server: pids.edge,
      helpers: { echo: pids.service, broker: ground.nats.pid, sink: pids.sink },
      ...(!list && { verify: (answers: number) => records.compare(name, answers) }),
      [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
    } satisfies Running;
  },
});
