import type { Mode } from './gating.js';

/** Events of `session.run`, aggregate id = the run's id: an agent at work in a workspace. Source: workspace-tools-1, A.1. */
export type RunEvent =
  | {
      type: 'RunStarted';
      data: {
        run_id: string;
        agent_id: string;
        space_id: string | null;
        conversation_id: string | null;
        /** The ticket that it was dispatched for. */
        ticket_id: string | null;
        mode: Mode | null;
        prompt: string;
        cost_cap_cents: number | null;
        in_reply_to_agent_id: string | null;
      };
    }
  | { type: 'RunFinished'; data: { run_id: string; outcome: string; cost_cents: number; turns: number } }
  | { type: 'RunFailed'; data: { run_id: string; reason: string } };
