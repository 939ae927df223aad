import type { Command } from 'commander';
import type { Make, With } from './make.js';

const UP_VARIABLES = `
Variables: PORT (9030), WEBHOOK_PORT (3001), CORTEX_CLIENT_PORT (3002), CORTEX_ISSUER_PORT (PORT+1), CORTEX_HOME;
CORTEX_NATS_URL and CORTEX_DATABASE_URL use servers of yours instead of embedded ones (the second with the credentials of
somebody who may make roles); CORTEX_NATS_SERVER names the program; OAUTH_ISSUER uses your authorization server.
Variables of the services (OTEL_*, OAUTH_*, CORTEX_*) are passed on.
`;

/** What starts an installation on one machine, watches it and ends it. */
export function lifecycle(cortex: Command, command: Make, json: With): void {
  json(command(cortex, 'up', 'start NATS, PostgreSQL and all services, and bring back whatever dies'))
    .option('-d, --detach', 'return when everything is ready; end it with: cortex down')
    .option('--each', 'one process per service instead of one for all')
    .option('--port <n>', 'public port; issuer n+1, webhooks n+2, devices n+3, where no variable says otherwise')
    .option('--reset', 'delete all data of the home first (asks)')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', UP_VARIABLES)
    .action(async (flags) => (await import('../commands/up.js')).up(flags));

  json(command(cortex, 'down', 'stop what `up` started, in order')).action(async (flags) =>
    (await import('../commands/down.js')).down(flags),
  );

  json(command(cortex, 'status', 'processes with port, uptime, memory and whether they are ready')).action(
    async (flags) => (await import('../commands/status.js')).status(flags),
  );

  command(cortex, 'logs', 'logs of one process, or of all of them')
    .argument('[service]', 'nats, postgres, services, up, audit-trail, or the name of a service')
    .option('-f, --follow', 'go on as they grow')
    .option('-n, --lines <n>', 'so many lines of each', '50')
    .option('--json', 'the lines as they were written')
    .action(async (service, flags) => (await import('../commands/logs.js')).logs(service, flags));

  json(command(cortex, 'doctor', 'check this machine and this home, and say what to mend')).action(async (flags) =>
    (await import('../commands/doctor.js')).doctor(flags),
  );
}
