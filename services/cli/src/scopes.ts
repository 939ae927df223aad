import { SCOPES } from '@cortex/contracts/scopes';

/** What a scope lets its holder do, for a person who is asked to grant it; every scope that Cortex itself knows. */
export const KNOWN_SCOPES: ReadonlyMap<string, string> = new Map([
  [SCOPES.read, 'read what Cortex keeps: tools that change nothing'],
  [SCOPES.write, 'change what Cortex keeps'],
  [SCOPES.devices, 'read and write files and run commands on the connected machines'],
  [SCOPES.devicesRead, 'read files on the connected machines'],
  [SCOPES.devicesWrite, 'write files on the connected machines'],
  [SCOPES.devicesExec, 'run commands on the connected machines'],
  [SCOPES.admin, 'operate Cortex: everything of everybody'],
]);

/** Scopes of whoever asks for none. */
export const OWNER_SCOPES = [SCOPES.read, SCOPES.write, SCOPES.devices].join(' ');
