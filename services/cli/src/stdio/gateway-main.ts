import { natsServerBinary } from '@cortex/embedded/nats-binary';
import { exitCodeOf, messageOf } from '../exit.js';
import { homeOf } from '../home.js';
import { tell } from '../output.js';
import { Supervisor } from '../up/supervisor.js';

/**
 * Child of `stdio`: a gateway and no more than it needs, in the home of its argv, until it is told to stop or its bridge is gone. The second
 * argument is the folder of programs of the home that the person knows, where a nats-server may lie already.
 */
const [dir, programs] = process.argv.slice(2);
const { env } = process;
const supervisor = new Supervisor({
  home: homeOf(dir),
  each: false,
  services: ['mcp-edge', 'ticket', 'audit'],
  readyLimitMs: 45_000,
  env,
  tell,
});
const stopped = new Promise<void>((resolve, reject) => {
  const stop = () => void supervisor.stop().then(resolve, reject);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.once('disconnect', stop);
});
try {
  if (!env['CORTEX_NATS_URL']) env['CORTEX_NATS_SERVER'] = await natsServerBinary({ dir: programs, progress: tell });
  await supervisor.start();
  process.send?.('ready');
  await Promise.race([stopped, supervisor.broken]);
} catch (error) {
  tell(messageOf(error));
  process.exitCode = exitCodeOf(error);
} finally {
  await supervisor.stop();
  if (process.connected) process.disconnect();
}
