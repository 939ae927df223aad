import type { HttpRefusal } from '../../seams.js';
import type { DoorWorld, Visit } from '../gates.js';

/** Host, then Origin: before anybody is asked who they are. */
export const originGate = ({ req }: Visit, { front }: DoorWorld): HttpRefusal | undefined => front.admit(req);
