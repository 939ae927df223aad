import { once } from 'node:events';
import { asProvisioner } from './admin.js';
import { homeOf } from './home.js';
import { messageOf } from './exit.js';
import { loadDefinitions, provision, writeNatsConfig, type ProvisionTarget } from './provision.js';
import { readSecrets } from './secrets.js';
import { ensureDefaultWorkspace, type Owner } from './up/default-workspace.js';

/**
 * Child of `up`: makes the bus permissions before nats-server starts, provisions, makes the workspace that a home begins with when the
 * services are there, and gives back the memory that all the registries take. Says `config`, `done` and `workspace`, or what went wrong.
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
  // Made by the services, once they are there; nobody is named where the service of workspaces is not among them.
  const [{ owner }] = (await once(process, 'message')) as [{ owner?: Owner | null }];
  if (owner !== undefined)
    await asProvisioner(target.nats_url, secrets, ({ ask }) => ensureDefaultWorkspace(ask, owner));
  process.send?.({ step: 'workspace' });
} catch (error) {
  process.send?.({ error: messageOf(error) });
  process.exitCode = 1;
} finally {
  process.disconnect?.();
}
