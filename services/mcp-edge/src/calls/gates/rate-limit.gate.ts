import type { DoorResult, DoorWorld, Visit } from '../gates.js';

/** One bucket per caller key, whatever way a call comes by (threat T14). */
export const rateLimitGate = ({ caller }: Visit, { limiter }: DoorWorld): DoorResult =>
  caller === undefined ? undefined : limiter.take(caller);
