import { HttpRefusal } from '../../seams.js';
import type { DoorResult, DoorWorld, Visit } from '../gates.js';

/** The token, its pool and its baseline scopes; a token that was seen before is answered without a promise. */
export function authenticateGate(visit: Visit, { authenticator }: DoorWorld): DoorResult {
  const settle = (result: Awaited<ReturnType<DoorWorld['authenticator']['authenticate']>>): HttpRefusal | undefined => {
    if (result instanceof HttpRefusal) return result;
    visit.caller = result;
    return undefined;
  };
  const result = authenticator.authenticate(visit.req, visit.resource);
  return result instanceof Promise ? result.then(settle) : settle(result);
}
