/** What an agent is in its workspace; `general` where nothing else was said. */
export const AGENT_ROLES = [
  'ceo',
  'coder',
  'reviewer',
  'qa',
  'designer',
  'security',
  'devops',
  'pm',
  'general',
] as const;
export type AgentRole = (typeof AGENT_ROLES)[number];

/**
 * Events of `team.agent`, one aggregate per agent. Today others read of them that the agent exists, and its role.
 * Source: workspace-tools-1, section A.1.
 */
export type AgentEvent = { type: 'AgentRegistered'; data: { name: string; role?: AgentRole } };
