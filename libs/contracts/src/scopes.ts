/** Scopes of Cortex's own tools. Source: architecture, ruling 12. */
export const SCOPES = {
  read: 'mcp:cortex:read',
  write: 'mcp:cortex:write',
  devices: 'mcp:cortex:devices',
  devicesRead: 'mcp:cortex:devices:read',
  devicesWrite: 'mcp:cortex:devices:write',
  devicesExec: 'mcp:cortex:devices:exec',
  admin: 'mcp:cortex:admin',
} as const;

/** Whether a scope is one of Cortex itself; all others are of backends. */
export const isOwnScope = (scope: string): boolean => scope.startsWith('mcp:cortex:');

/** One scope that stands for others; the only built-in hierarchy. */
export const SCOPE_IMPLIES: Readonly<Record<string, readonly string[]>> = {
  [SCOPES.devices]: [SCOPES.devicesRead, SCOPES.devicesWrite, SCOPES.devicesExec],
};
