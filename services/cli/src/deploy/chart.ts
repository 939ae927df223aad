import { SERVICES } from '@cortex/contracts/services';
import type { Secrets } from '@cortex/service-kit';
import { deployed, opsPortOf } from './services.js';
import { ownSecrets } from '../up/environment.js';

/** How the chart makes a secret that `cortex secrets` makes too. */
type Kind = 'password' | 'key' | 'ed25519';

/** `services.yaml` of the chart: what its templates know of the services. */
export function chartServices(sample: Secrets): string {
  const lines = deployed.flatMap(({ name, replicas, cpu, memory, memoryLimit, ports = [], ...more }) => [
    `${name}:`,
    `  opsPort: ${opsPortOf(name)}`,
    `  replicas: { least: ${replicas.least}, most: ${replicas.most} }`,
    `  requests: { cpu: ${cpu}m, memory: ${bytes(memory)} }`,
    `  limits: { memory: ${bytes(memoryLimit)} }`,
    ...(more.disk ? ['  disk: true'] : []),
    ...(more.outward ? ['  outward: true'] : []),
    ...(more.files ? [`  files: [${more.files.join(', ')}]`] : []),
    ...(ports.length > 0 ? ['  ports:'] : []),
    ...ports.map(
      ({ name: port, port: number, variable, host }) =>
        `    - { name: ${port}, port: ${number}, variable: ${variable}, host: ${host} }`,
    ),
    '  secrets:',
    ...Object.entries(ownSecrets([name], sample)).map(([variable, value]) => `    ${variable}: ${kindOf(value)}`),
  ]);
  return ['# Written by `npm run deploy` from the list of services in the code; changes here are lost.', ...lines, '']
    .join('\n')
    .replaceAll(/ {2}secrets:\n(?! {4})/g, '');
}

function kindOf(value: string): Kind {
  if (value.startsWith('-----BEGIN PRIVATE KEY-----')) return 'ed25519';
  return /^[A-Za-z0-9+/]{43}=$/.test(value) ? 'key' : 'password';
}

/** The chart's schema with the services that `services` may name. */
export function chartSchema(text: string): string {
  const names = SERVICES.map((name) => `          ${JSON.stringify(name)}`).join(',\n');
  return text.replace(/("propertyNames": \{\n {8}"enum": \[)[^\]]*\]/, `$1\n${names}\n        ]`);
}

/** MiB as the API server writes them: another form of the same would be a change at each upgrade. */
const bytes = (mebibytes: number): string => (mebibytes % 1024 === 0 ? `${mebibytes / 1024}Gi` : `${mebibytes}Mi`);
