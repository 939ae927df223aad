import type { ActionClass } from '@cortex/contracts';

/** What a person is asked before a call runs. Source: workspace-tools-2, section 2.4. */
export interface ConfirmationRequest {
  id: string;
  workspace_id: string | null;
  conversation_id: string | undefined;
  tool: string;
  about: 'tool' | 'command' | 'file_write' | 'network_egress' | 'capability_escalation';
  severity: 'info' | 'warning' | 'destructive';
  classes: readonly ActionClass[];
  command?: string;
  /** A soft deny: only a member with `guardrail.override` may say yes, and with a text. */
  override: boolean;
}

export type Confirmation =
  | { outcome: 'approved'; id: string; by: string; remembered?: string }
  | { outcome: 'denied'; by?: string }
  /** Nobody is there to answer: a no at once. */
  | { outcome: 'unavailable' };

export interface ConfirmationPort {
  ask(request: ConfirmationRequest): Promise<Confirmation>;
}

/** Nobody can be reached: whatever must be asked is refused. */
export const nobodyReachable: ConfirmationPort = {
  ask: () => Promise.resolve({ outcome: 'unavailable' }),
};
