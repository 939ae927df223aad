import { deployed, opsPortOf } from './services.js';

/** Jobs of Prometheus: each replica of each service, found by the name of the service. */
export const scrapeTargets = (): string =>
  deployed
    .map(({ name }) =>
      [
        `  - job_name: ${name}`,
        // The edge answers on its public port, so it wants a token.
        ...(name === 'mcp-edge'
          ? ['    authorization: { credentials_file: /run/cortex/secrets/CORTEX_METRICS_TOKEN }']
          : []),
        `    dns_sd_configs: [{ names: [${name}], type: A, port: ${opsPortOf(name)}, refresh_interval: 10s }]`,
        '',
      ].join('\n'),
    )
    .join('');
