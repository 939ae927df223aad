import { once } from 'node:events';
import { homeOf } from './home.js';
import { messageOf } from './exit.js';
import { loadDefinitions, provision, writeNatsConfig, type ProvisionTarget } from './provision.js';
import { readSecrets } from './secrets.js';

/**
 * Child of `up`: makes the bus permissions before nats-server starts, then provisions, and gives back the memory that all the
 * registries take. Says `config` and `done`, or what went wrong.
 */
try {
  const home = homeOf();
  const secrets = readSecrets(home);
  const services = await loadDefinitions();
  writeNatsConfig(home, secrets, services);
  process.send?.({ step: 'config' });
  const [target] = (await once(process, 'message')) as [ProvisionTarget];
  await provision(target, secrets, services, (level, message, fields) => {
    if (level !== 'debug') console.error(JSON.stringify({ level, message, ...fields }));
  });
  process.send?.({ step: 'done' });
} catch (error) {
  process.send?.({ error: messageOf(error) });
  process.exitCode = 1;
} finally {
  process.disconnect?.();
}
