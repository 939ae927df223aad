/** The ten services. Their order is the order in which `up` starts and lists them. */
export const SERVICES = [
  'mcp-edge',
  'session',
  'remote-ops',
  'waitpoint',
  'team',
  'review',
  'memory',
  'ticket',
  'billing',
  'audit',
] as const;
export type ServiceName = (typeof SERVICES)[number];

/** Schema and role names of a service in PostgreSQL: `remote-ops` is `remote_ops`. */
export const schemaOf = (service: string): string => service.replaceAll('-', '_');

/** Who connects to the bus beside the services: provisioning (launcher, deploy job, operator). */
export const PROVISIONER = 'provision';
export type BusUser = ServiceName | typeof PROVISIONER;
