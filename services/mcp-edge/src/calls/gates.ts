import type { IncomingMessage } from 'node:http';
import type { Challenges } from '../auth/challenge.js';
import type { Catalog } from '../catalog/catalog.js';
import type { Federation } from '../federation/federation.js';
import type { ConfirmationPort } from '../guard/confirmation.js';
import type { GateViews } from '../guard/views.js';
import type { RateLimiter } from '../ratelimit/rate-limiter.js';
import type { Authenticator, CallerContext, HttpFront, HttpRefusal, ResourceKind } from '../seams.js';
import type { Settings } from '../settings.js';
import type { CallContext, GateResult } from './call-context.js';
import { approvalGate } from './gates/approval.gate.js';
import { argumentsGate } from './gates/arguments.gate.js';
import { authenticateGate } from './gates/authenticate.gate.js';
import { baselineGate } from './gates/baseline.gate.js';
import { compositionGate } from './gates/composition.gate.js';
import { contentGate } from './gates/content.gate.js';
import { guardRailGate } from './gates/guard-rail.gate.js';
import { modeGate } from './gates/mode.gate.js';
import { originGate } from './gates/origin.gate.js';
import { poolGate } from './gates/pool.gate.js';
import { quarantineGate } from './gates/quarantine.gate.js';
import { rateLimitGate } from './gates/rate-limit.gate.js';
import { resolveToolGate } from './gates/resolve-tool.gate.js';
import { scopeGate } from './gates/scope.gate.js';
import { workspaceGate } from './gates/workspace.gate.js';

/** One HTTP request before its body is read. */
export interface Visit {
  readonly req: IncomingMessage;
  readonly resource: ResourceKind;
  /** From `authenticate` on. */
  caller: CallerContext | undefined;
}
export interface DoorWorld {
  readonly front: HttpFront;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly settings: Settings;
  readonly challenges: Challenges;
}
export type DoorResult = HttpRefusal | undefined | Promise<HttpRefusal | undefined>;

/** What the gates of a call read: tables in memory, and the one way to ask a person. */
export interface GateWorld {
  readonly settings: Settings;
  readonly catalog: Catalog;
  readonly federation: Pick<Federation, 'absentOwnerOf'>;
  readonly views: GateViews;
  readonly confirmation: ConfirmationPort;
}

/**
 * The whole pipeline, in its order; the first gate that refuses answers, and none behind it runs. The door is passed by every request before
 * a byte of its body is read, the gates by every `tools/call`; then `run-call` dispatches and records.
 */
export const DOOR: readonly (readonly [name: string, gate: (visit: Visit, world: DoorWorld) => DoorResult])[] = [
  ['origin', originGate],
  ['content', contentGate],
  ['authenticate', authenticateGate],
  ['rate_limit', rateLimitGate],
  ['pool', poolGate],
  ['baseline', baselineGate],
];
export const GATES: readonly (readonly [name: string, gate: (ctx: CallContext, world: GateWorld) => GateResult])[] = [
  ['resolve_tool', resolveToolGate],
  ['scope', scopeGate],
  ['composition', compositionGate],
  ['quarantine', quarantineGate],
  ['arguments', argumentsGate],
  ['workspace', workspaceGate],
  ['mode', modeGate],
  ['guard_rail', guardRailGate],
  ['approval', approvalGate],
];
