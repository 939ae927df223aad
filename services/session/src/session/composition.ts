import { SCOPES } from '@cortex/contracts';
import type { CapabilityGroup } from '@cortex/contracts/session';

const PLATFORMS: readonly [prefix: string, group: CapabilityGroup][] = [
  ['slack:', 'cortex-slack'],
  ['feishu:', 'cortex-feishu'],
  ['web:', 'cortex-web'],
];

/** Beginnings of channels; what follows names the conversation there. */
export const CHANNEL_PREFIXES: readonly string[] = PLATFORMS.map(([prefix]) => prefix);

/**
 * Groups of a session of composition `direct`, in canonical order: what every top-level session has, what needs somebody who
 * started it, and the one of the platform that it came from. Source: agent-server, section 2.2.
 */
export function groupsOf(session: { userStarted: boolean; channel: string }): CapabilityGroup[] {
  const platform = PLATFORMS.find(([prefix]) => session.channel.startsWith(prefix))?.[1];
  return [
    'cortex-core',
    'cortex-ext',
    ...(session.userStarted ? (['cortex-interaction-bridge'] as const) : []),
    ...(platform === undefined ? [] : [platform]),
  ];
}

/**
 * Scopes that the tools of these groups, and of the registry where there is a workspace, need. More never stands in a token
 * of the session, whatever its person may do. Source: gateway, section 10.10.
 */
export function neededScopes(groups: readonly string[], workspace: string | null): string[] {
  const own = groups.length > 0 || workspace !== null ? [SCOPES.read, SCOPES.write] : [];
  const devices = groups.includes('cortex-core') ? [SCOPES.devicesRead, SCOPES.devicesWrite, SCOPES.devicesExec] : [];
  return [...own, ...devices];
}
