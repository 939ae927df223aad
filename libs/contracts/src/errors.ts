/** The coarse word that every client handles. Source: architecture, section 8. */
export const ERROR_KINDS = [
  'invalid_argument',
  'unauthenticated',
  'permission_denied',
  'not_found',
  'conflict',
  'failed_precondition',
  'resource_exhausted',
  'deadline_exceeded',
  'unavailable',
  'cancelled',
  'internal',
] as const;
export type ErrorKind = (typeof ERROR_KINDS)[number];

/** The finer word below each kind; optional and stable. */
export const REASONS = {
  invalid_argument: ['unknown_argument', 'too_large', 'workspace_required'],
  unauthenticated: [],
  not_found: ['workspace_not_found', 'no_match'],
  permission_denied: [
    'refused_by_scope',
    'refused_by_composition',
    'refused_by_mode',
    'denied_by_policy',
    'denied_by_hook',
    'approval_denied',
    'wrong_workspace',
    'not_a_member',
    'forbidden',
    'memory_permission_denied',
    'policy_blocked',
    'path_outside_roots',
  ],
  conflict: ['already_settled', 'name_taken', 'revision_conflict', 'idempotency_mismatch'],
  failed_precondition: [
    'invalid_state',
    'approval_required',
    'approval_unavailable',
    'changed_since_approval',
    'no_active_run',
    'delegation_refused',
    'scan_blocked',
    'no_session',
    'isolation_unavailable',
  ],
  resource_exhausted: ['rate_limited'],
  deadline_exceeded: ['timeout', 'unanswered'],
  unavailable: ['rig_unavailable', 'upstream_failed', 'device_offline'],
  cancelled: [],
  internal: [],
} as const satisfies Record<ErrorKind, readonly string[]>;
export type Reason = (typeof REASONS)[ErrorKind][number];

/** An error as it crosses the bus and as `_meta["cortex/error"]` shows it (there with `call_id`). */
export interface WireError {
  kind: ErrorKind;
  reason?: Reason;
  /** The argument or thing that is at fault, where there is one. */
  field?: string;
  /** `<field> <problem>; <fix>` */
  message: string;
  /** True when the same request may succeed later without being changed. */
  retryable: boolean;
  details?: Record<string, unknown>;
}

export interface ErrorExtras {
  reason?: Reason;
  details?: Record<string, unknown>;
  /** The cause is for our log; it never leaves the process. */
  cause?: unknown;
}

/**
 * The one error class. Match on `kind`, never on the text or with `instanceof` across the bus: there it is a `WireError`.
 * The text reads `<field> <problem>; <fix>`.
 */
export class CortexError extends Error {
  override readonly name = 'CortexError';
  readonly reason: Reason | undefined;
  readonly details: Record<string, unknown> | undefined;

  constructor(
    readonly kind: ErrorKind,
    readonly field: string | undefined,
    readonly problem: string,
    readonly fix: string,
    extras: ErrorExtras = {},
  ) {
    const subject = field === undefined ? problem : `${field} ${problem}`;
    super(
      fix === '' ? subject : `${subject}; ${fix}`,
      extras.cause === undefined ? undefined : { cause: extras.cause },
    );
    this.reason = extras.reason;
    this.details = extras.details;
  }

  toWire(): WireError {
    return {
      kind: this.kind,
      ...(this.reason && { reason: this.reason }),
      ...(this.field !== undefined && { field: this.field }),
      message: this.message,
      retryable: isRetryable(this.kind),
      ...(this.details && { details: this.details }),
    };
  }

  /** Brings an error that another service sent back to life, text and all. */
  static fromWire(wire: WireError): CortexError {
    const extras = { ...(wire.reason && { reason: wire.reason }), ...(wire.details && { details: wire.details }) };
    const error = new CortexError(wire.kind, wire.field, wire.message, '', extras);
    error.message = wire.message;
    return error;
  }
}

export function isRetryable(kind: ErrorKind): boolean {
  return kind === 'unavailable' || kind === 'deadline_exceeded' || kind === 'resource_exhausted';
}

export function isCortexError(error: unknown): error is CortexError {
  return error instanceof Error && error.name === 'CortexError' && 'kind' in error;
}

/** What of any thrown thing may leave the process: our own errors as they are, everything else as `internal`. */
export function toWireError(error: unknown, callId?: string): WireError {
  if (isCortexError(error)) return error.toWire();
  const where = callId === undefined ? '' : ` (call ${callId})`;
  return {
    kind: 'internal',
    message: `something broke inside Cortex${where}; report the call id to the operator`,
    retryable: false,
  };
}

const of =
  (kind: ErrorKind) =>
  (field: string | undefined, problem: string, fix: string, extras?: ErrorExtras): CortexError =>
    new CortexError(kind, field, problem, fix, extras);

export const invalidArgument = of('invalid_argument');
export const unauthenticated = of('unauthenticated');
export const permissionDenied = of('permission_denied');
export const notFound = of('not_found');
export const conflict = of('conflict');
export const failedPrecondition = of('failed_precondition');
export const resourceExhausted = of('resource_exhausted');
export const deadlineExceeded = of('deadline_exceeded');
export const unavailable = of('unavailable');
export const cancelled = of('cancelled');
export const internal = of('internal');
