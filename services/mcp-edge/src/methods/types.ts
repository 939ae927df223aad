import type { WireError } from '@cortex/contracts';
import type { CallEvents } from '../federation/types.js';
import type { CallerContext, CallMeta, Cancellation, ClientSaid, Era, ListOptions, Revision } from '../seams.js';

export type Json = Readonly<Record<string, unknown>>;

/** The methods that ask for what is no tool. */
export const METHODS = [
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
] as const;
export type Method = (typeof METHODS)[number];

/** One request for what is no tool, whatever era and transport it came by. */
export interface MethodAsk {
  readonly method: Method;
  readonly caller: CallerContext;
  /** As received. */
  readonly params: Json;
  readonly meta: CallMeta;
  readonly client: ClientSaid;
  readonly era: Era;
  readonly revision: Revision;
  readonly list: ListOptions;
  readonly cancel: Cancellation;
  readonly events: CallEvents | undefined;
  readonly requestId: string;
}

export interface MethodFault {
  readonly kind: 'error';
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
  /** HTTP status where the transport can still say it. */
  readonly status: number;
  /** All scopes that would have been needed: the route adds the challenge. */
  readonly required_scopes?: readonly string[];
  /** For the record. */
  readonly error: Pick<WireError, 'kind' | 'reason'>;
}

/** `value` = the result object without `resultType`; `input_required` = questions to the client in place of a result. */
export type MethodOutcome =
  { readonly kind: 'result' | 'input_required'; readonly value: Record<string, unknown> } | MethodFault;
