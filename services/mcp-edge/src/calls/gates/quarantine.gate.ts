import { failedPrecondition } from '@cortex/contracts';
import { RPC } from '../../mcp/envelope.js';
import type { CallContext, Refusal } from '../call-context.js';

const WHY = {
  changed: 'definition changed since approval',
  pending: 'definition waits for approval',
  degraded: 'what was approved of its backend cannot be believed',
};

/** A tool of a backend that the review holds back: whoever might call it is told that, and not that there is no such tool. */
export function quarantineGate({ tool }: CallContext): Refusal | undefined {
  const held = tool?.federated?.held;
  if (tool === undefined || held === undefined) return undefined;
  const message = `Tool quarantined: ${WHY[held.why]}`;
  return {
    error: failedPrecondition(undefined, message, held.remediation).toWire(),
    fix: held.remediation,
    outcome: 'denied',
    rpc: {
      code: RPC.internal,
      message,
      data: { tool: tool.name, remediation: held.remediation },
      status: 200,
    },
  };
}
