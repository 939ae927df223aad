import type { CallerContext, HttpRefusal } from '../../seams.js';
import type { Settings } from '../../settings.js';
import type { DoorWorld, Visit } from '../gates.js';

/** Whether the token of a person belongs to another pool than this gateway's; a session's is the gateway's own. Source: gateway, section 10.7. */
export const isOfAnotherPool = (caller: CallerContext, { CORTEX_REQUIRED_POOL: pool }: Settings): boolean =>
  pool !== undefined && caller.kind === 'person' && caller.pool !== pool;

export const poolGate = ({ req, resource, caller }: Visit, world: DoorWorld): HttpRefusal | undefined =>
  caller !== undefined && isOfAnotherPool(caller, world.settings)
    ? world.challenges.wrongPool(req, resource)
    : undefined;
