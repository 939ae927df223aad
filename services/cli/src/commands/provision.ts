import { CliError, EXIT } from '../exit.js';
import { adminUrl } from '../admin.js';
import { homeOf, openHome } from '../home.js';
import { print, printJson, tell } from '../output.js';
import { loadDefinitions, provision, writeNatsConfig } from '../provision.js';
import { ensureSecrets } from '../secrets.js';
import { runningState } from '../up/state.js';
import { readFileSync } from 'node:fs';

export async function provisionCommand(flags: { home?: string; json?: boolean; natsConfig?: boolean }): Promise<void> {
  const home = homeOf(flags.home);
  openHome(home);
  const secrets = await ensureSecrets(home);
  const services = await loadDefinitions();
  writeNatsConfig(home, secrets, services);
  if (flags.natsConfig) return print(readFileSync(home.natsConfig, 'utf8'));
  const state = runningState(home);
  const nats_url = process.env['CORTEX_NATS_URL'] || state?.nats_url;
  if (nats_url === undefined || (state === null && !process.env['CORTEX_DATABASE_URL'])) {
    throw new CliError(
      `home ${home.dir} is not running; start it with cortex up, or set CORTEX_NATS_URL and CORTEX_DATABASE_URL`,
      EXIT.notRunning,
    );
  }
  const admin_url = adminUrl(state ?? { database_url: '' }, secrets, process.env);
  tell('provisioning bus and database');
  await provision({ nats_url, admin_url }, secrets, services, (level, message) => {
    if (level === 'warn' || level === 'error') tell(message);
  });
  const names = services.map(({ name }) => name);
  if (flags.json) printJson({ provisioned: true, services: names });
  else print(`provisioned for ${names.join(', ')}`);
}
