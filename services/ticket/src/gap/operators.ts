import { permissionDenied } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';

/** Tickets of others are the operators' alone. Errors: `permission_denied` forbidden. */
export function assertOperator({ caller }: Pick<ToolContext, 'caller'>): void {
  if (caller.roles.includes('operator')) return;
  throw permissionDenied('caller', 'is no operator', 'ask for your own tickets', { reason: 'forbidden' });
}
