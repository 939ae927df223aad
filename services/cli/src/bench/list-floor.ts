import { once } from 'node:events';
import { cortexTarget } from './cortex-target.js';
import { startProgram } from './processes.js';
import { listOf } from './request.js';
import { send } from './send.js';
import type { Target } from './targets.js';

/** Floor of the list: a bare server of the very bytes that the edge answers, which an edge is started for. */
export const listFloor = (name: string, what: string, tools: number): Target => {
  let bytes: Promise<string> | undefined;
  return {
    name,
    what,
    async start() {
      bytes ??= edgeList(tools);
      await using stack = new AsyncDisposableStack();
      const server = stack.use(await startProgram('floor-bytes.js'));
      server.process.send({ answer: await bytes });
      const [{ port }] = (await once(server.process, 'message')) as [{ port: number }];
      const cleanUp = stack.move();
      const dispose = () => cleanUp.disposeAsync();
      return { ...listOf({ port }), port, server: server.pid, helpers: {}, [Symbol.asyncDispose]: dispose };
    },
  };
};

async function edgeList(tools: number): Promise<string> {
  await using running = await cortexTarget({ name: 'list', what: '', tools, list: true }).start();
  return await send(running.port, running.request);
}
