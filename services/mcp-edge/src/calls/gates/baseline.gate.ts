import type { CallerContext, HttpRefusal } from '../../seams.js';
import type { Settings } from '../../settings.js';
import type { DoorWorld, Visit } from '../gates.js';

/** The scopes that every token of a person must have and this one lacks. Source: gateway, section 10.6. */
export const missingBaseline = (
  caller: CallerContext,
  { OAUTH_REQUIRED_SCOPES: required }: Settings,
): readonly string[] => (caller.kind === 'person' ? required.filter((scope) => !caller.scopes.has(scope)) : []);

export const baselineGate = ({ req, resource, caller }: Visit, world: DoorWorld): HttpRefusal | undefined =>
  caller !== undefined && missingBaseline(caller, world.settings).length > 0
    ? world.challenges.missingBaseline(req, resource)
    : undefined;
