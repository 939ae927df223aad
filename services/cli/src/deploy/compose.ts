import type { ServiceName } from '@cortex/contracts/services';
import type { Provisionable } from '@cortex/eventstore';
import type { ServiceDefinition } from '@cortex/service-kit';
import { SharedVariables } from '@cortex/service-kit/config';
import { SECRET } from '../up/environment.js';
import { deployed, type Deployed, OPS_PORT, opsPortOf } from './services.js';
import { SECRET_READERS } from './secrets.js';

/** What the compose file itself gives to a service; everything else that it reads is passed through from `.env`. */
const GIVEN: Partial<Record<ServiceName, Readonly<Record<string, string>>>> = {
  'mcp-edge': {
    OAUTH_ISSUER: '${OAUTH_ISSUER:-http://127.0.0.1:${CORTEX_ISSUER_PORT:-9031}}',
    OAUTH_JWKS_URL:
      '${OAUTH_JWKS_URL:-${OAUTH_ISSUER:-http://issuer:${CORTEX_ISSUER_PORT:-9031}}/.well-known/jwks.json}',
    CORTEX_DEV_ISSUER: '${CORTEX_DEV_ISSUER:-1}',
    CORTEX_ALLOWED_HOSTS: '${CORTEX_ALLOWED_HOSTS:-mcp-edge}',
    CORTEX_TRUSTED_PROXY_HOPS: '${CORTEX_TRUSTED_PROXY_HOPS:-1}',
  },
};
/** Of the process, not of the installation. */
const OF_THE_CONTAINER = [
  'NODE_ENV',
  'CORTEX_HOME',
  'CORTEX_CANONICAL_URI',
  'PORT',
  ...Object.keys(SharedVariables.shape),
];

type Definition = Provisionable & Pick<ServiceDefinition, 'config'>;

/** Variables of a service that `.env` may set. */
export function settingsOf({ name, config }: Definition): string[] {
  const own = deployed
    .find((service) => service.name === name)
    ?.ports?.flatMap(({ variable, host }) => [variable, host]);
  const set = new Set([...OF_THE_CONTAINER, ...Object.keys(GIVEN[name] ?? {}), ...(own ?? [])]);
  return Object.keys(config.shape).filter((variable) => !set.has(variable) && !SECRET.test(variable));
}

/** The parts of docker-compose.yml that name services. */
export function composeParts(definitions: readonly Definition[]): Readonly<Record<string, string>> {
  return {
    services: deployed
      .map((service) =>
        block(
          service,
          definitions.find(({ name }) => name === service.name)!,
        ),
      )
      .join('\n'),
    secrets: SECRET_READERS.map((reader) => `      - secrets-${reader}:/secrets/${reader}\n`).join(''),
    volumes: [
      ...SECRET_READERS.map((reader) => `  secrets-${reader}:\n`),
      ...deployed.flatMap(({ name, disk }) => (disk ? [`  ${name}-data:\n`] : [])),
    ].join(''),
  };
}

function block(service: Deployed & { name: ServiceName }, definition: Definition): string {
  const { name, ports = [], disk, files, outward, openVariables, memoryLimit } = service;
  const given = {
    ...Object.fromEntries(
      ports.flatMap(({ variable, host, port }) => [[variable, `'${port}'`] as const, [host, '0.0.0.0'] as const]),
    ),
    ...GIVEN[name],
  };
  const environment = [
    ...Object.entries(given).map(([variable, value]) => `      ${variable}: ${value}\n`),
    ...settingsOf(definition).map((variable) => `      ${variable}:\n`),
  ];
  const volumes = [
    `secrets-${name}:/run/cortex/secrets:ro`,
    './deploy/tls:/run/cortex/tls:ro',
    ...(disk ? [`${name}-data:/var/lib/cortex`] : []),
    ...(files ? ['./deploy/config:/var/lib/cortex/config:ro'] : []),
  ];
  const networks = ['inner', ...(outward ? ['front'] : ports.length > 0 ? ['devices'] : [])];
  const ops = opsPortOf(name);
  return [
    `  ${name}:\n    <<: *service\n    command: [serve, ${name}]\n`,
    environment.length > 0
      ? `    environment:\n      <<: *environment\n${environment.join('')}`
      : '    environment: *environment\n',
    openVariables
      ? '    # Variables of backends have their ids in their names.\n    env_file: [{ path: backends.env, required: false }]\n'
      : '',
    networks.length > 1 ? `    networks: [${networks.join(', ')}]\n` : '',
    disk ? "    tmpfs: ['/tmp:size=64m,mode=1777']\n" : '',
    ops === OPS_PORT ? '' : `    healthcheck:\n      <<: *healthcheck\n      test: [CMD, cortex-healthy, '${ops}']\n`,
    `    volumes:\n${volumes.map((volume) => `      - ${volume}\n`).join('')}`,
    `    deploy:\n      resources:\n        limits: { cpus: '1', memory: ${memoryLimit}m }\n`,
  ].join('');
}
