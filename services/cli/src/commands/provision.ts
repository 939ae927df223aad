import { retentionDays } from '@cortex/contracts/retention';
import { readFileSync } from 'node:fs';
import { adminUrl } from '../admin.js';
import { PROVISION_FILE, type ProvisionSecrets } from '../deploy/secrets.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf, openHome, readJson } from '../home.js';
import { print, printJson, tell } from '../output.js';
import { loadDefinitions, provision, writeNatsConfig } from '../provision.js';
import { ensureSecrets } from '../secrets.js';
import { runningState } from '../up/state.js';

interface Flags {
  home?: string;
  json?: boolean;
  natsConfig?: boolean;
  secrets?: string;
  replicas?: string;
}

export async function provisionCommand(flags: Flags): Promise<void> {
  const replicas = flags.replicas === undefined ? undefined : copies(flags.replicas);
  const home = homeOf(flags.home);
  const services = await loadDefinitions();
  let secrets: ProvisionSecrets;
  if (flags.secrets !== undefined) {
    secrets = handedSecrets(flags.secrets);
  } else {
    openHome(home);
    const own = (secrets = await ensureSecrets(home));
    writeNatsConfig(home, own, services);
    if (flags.natsConfig) return print(readFileSync(home.natsConfig, 'utf8'));
  }
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
  const log = (level: string, message: string) => {
    if (level === 'warn' || level === 'error') tell(message);
  };
  const calls_days = retentionDays(process.env['CORTEX_AUDIT_RETENTION_DAYS']);
  await provision({ nats_url, admin_url, replicas, calls_days }, secrets, services, log);
  const names = services.map(({ name }) => name);
  if (flags.json) printJson({ provisioned: true, services: names });
  else print(`provisioned for ${names.join(', ')}`);
}

/** Where the job that provisions is given no more than it needs, there is no home. */
export function handedSecrets(file: string): ProvisionSecrets {
  const secrets = readJson<ProvisionSecrets>(file);
  if (secrets?.bus !== undefined && secrets.database?.admin !== undefined) return secrets;
  throw new CliError(
    `--secrets ${file} holds no passwords; give the ${PROVISION_FILE} that cortex secrets writes`,
    EXIT.usage,
  );
}

/** Of each stream; JetStream keeps an odd number of them. */
export function copies(text: string): number {
  if (['1', '3', '5'].includes(text)) return Number(text);
  throw new CliError(`--replicas must be 1, 3 or 5; it is ${JSON.stringify(text)}`, EXIT.usage);
}
