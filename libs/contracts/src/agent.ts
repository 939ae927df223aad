/**
 * Events of `team.agent`, one aggregate per agent. Today others read of them that the agent exists.
 * Source: workspace-tools-1, section A.1.
 */
export type AgentEvent = { type: 'AgentRegistered'; data: { name: string } };
