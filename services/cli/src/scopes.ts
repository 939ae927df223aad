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

/** `mcp:<domain>:<action>` and the like: parts with a colon between them. */
const BACKEND_SCOPE = /^[a-z][a-z0-9+.-]*(?::[\w./*-]+)+$/;
const OWN = 'mcp:cortex:';

/** Whether a scope can be granted: one of Cortex, or one that a backend may ask for, whose words nobody here knows. */
export const isScope = (text: string): boolean =>
  KNOWN_SCOPES.has(text) || (BACKEND_SCOPE.test(text) && !text.startsWith(OWN));

export const meaningOf = (scope: string): string => KNOWN_SCOPES.get(scope) ?? 'use tools of a backend, in your name';

/** Scopes of whoever asks for none. */
export const OWNER_SCOPES = [SCOPES.read, SCOPES.write, SCOPES.devices].join(' ');
