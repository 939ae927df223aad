import { subjects } from '@cortex/contracts';
import { connect } from '@nats-io/transport-node';
import { countRecords } from './call-records.js';
import { echoService } from './echo.js';
import { startEdgeWith } from './edge-with.js';
import { asProvisioner } from './ground.js';
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
    const { servers, user, pass } = asProvisioner(ground);
    const nc = await connect({ servers, user, pass, inboxPrefix: `_INBOX_${user}` });
    stack.defer(() => nc.close());
    const cleanUp = stack.move();
    return {
      ...(list ? listOf(door) : callOf(door, times)),
      port: door.port,
      server: pids.edge,
      helpers: { echo: pids.service, broker: ground.nats.pid, sink: pids.sink },
      async verify(answers) {
        if (list) return;
        const { ToolCallFinished: finished = 0, ToolCallStarted: started = 0 } = await countRecords(
          nc,
          subjects.call(service.name, TOOL),
        );
        if (finished !== answers || started < finished) {
          throw new Error(`${name}: ${answers} answers, ${finished} ends and ${started} starts on record`);
        }
      },
      [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
    } satisfies Running;
  },
});
