import { type Sealer, SealError } from '@cortex/auth';
import { type CortexError, sha256Hex } from '@cortex/contracts';
import { isObject } from '@cortex/contracts/is-object';
import { failure, failureOf } from '../federation/failures.js';
import { toldBy } from '../federation/provenance.js';
import type { Backend } from '../federation/types.js';
import { RPC } from '../mcp/envelope.js';
import type { CallerContext, ClientSaid, EdgeLog } from '../seams.js';
import type { Opened } from './context.js';
import { missingCapabilities, questionsOf } from './questions.js';
import type { Json } from './types.js';

/** What a state is bound to: it comes back with the same request of the same caller or not at all. */
export interface Bound {
  readonly backend: Backend;
  /** As the backend knows it: name of a tool or prompt, URI of a resource. */
  readonly item: string;
  readonly method: string;
  readonly caller: CallerContext;
  readonly args: unknown;
}

/** What is sealed. The caller and the method are bound by the seal itself. */
interface Kept {
  state: string;
  backend: string;
  item: string;
  args: string;
  /** Milliseconds since 1970. */
  issued_at: number;
  expires_at: number;
}

/**
 * Calls that take several requests: a backend answers with questions, the client sends the same request again with answers. Nothing of it is
 * kept here between the two: the backend's own state travels sealed with the client, who can neither read nor change it (threat T15).
 * Source: gateway, section 4.5.
 */
export class RoundTrips {
  constructor(
    private readonly sealer: Sealer,
    private readonly ttlSeconds: number,
    private readonly log: EdgeLog,
    private readonly now: () => number = Date.now,
  ) {}

  /** What of a request is for the backend. Throws -32602 for a state that is not of this very request, or is too old. */
  opened(bound: Bound, client: ClientSaid | undefined): Opened {
    const { input_responses: responses, request_state: state } = client ?? {};
    const answers =
      responses === undefined
        ? {}
        : {
            inputResponses: isObject(responses)
              ? Object.fromEntries(Object.entries(responses).filter(([, answer]) => isObject(answer)))
              : {},
          };
    return state === undefined ? answers : { ...answers, requestState: this.#open(bound, state) };
  }

  /**
   * The questions of a backend as the client gets them. Throws the error of an invalid response, and -32021 where the client did not say that
   * it can answer.
   */
  asked(bound: Bound, client: ClientSaid | undefined, value: Json): { inputRequests?: Json; requestState?: string } {
    const { requestState } = value;
    const questions = questionsOf(value['inputRequests'], client?.capabilities ?? {});
    if (typeof questions === 'string') throw this.#invalid(bound, questions);
    if (requestState !== undefined && typeof requestState !== 'string')
      throw this.#invalid(bound, 'its requestState is no text');
    const empty = Object.keys(questions).length === 0;
    if (empty && requestState === undefined) throw this.#invalid(bound, 'it asks for input and says not for which');
    const missing = missingCapabilities(questions, client?.capabilities ?? {});
    if (missing !== undefined)
      throw failure(
        'failed_precondition',
        'The request needs input that its client did not say it can give',
        { requiredCapabilities: missing },
        {},
        { code: RPC.missingCapability, status: 400 },
      );
    return {
      ...(!empty && { inputRequests: questions }),
      ...(requestState !== undefined && { requestState: this.#seal(bound, requestState) }),
    };
  }

  #invalid({ backend, item, method, caller }: Bound, why: string): CortexError {
    this.log.warn({ backend: backend.id, item, why }, 'a backend sent an invalid response');
    return failureOf(backend, { kind: 'invalid', why }, method, toldBy(backend, caller));
  }

  #seal(bound: Bound, state: string): string {
    const issued_at = this.now();
    const kept: Kept = {
      state,
      backend: bound.backend.id,
      item: bound.item,
      args: digestOf(bound.args),
      issued_at,
      expires_at: issued_at + this.ttlSeconds * 1000,
    };
    return this.sealer.seal(contextOf(bound), Buffer.from(JSON.stringify(kept)));
  }

  #open(bound: Bound, sealed: unknown): string {
    try {
      if (typeof sealed !== 'string') throw new SealError('no text');
      const kept = JSON.parse(this.sealer.open(contextOf(bound), sealed).toString('utf8')) as Kept;
      if (kept.expires_at <= this.now()) throw new SealError('expired');
      if (kept.backend !== bound.backend.id || kept.item !== bound.item) throw new SealError('of another item');
      if (kept.args !== digestOf(bound.args)) throw new SealError('of other arguments');
      return kept.state;
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      // Why is for us: whoever made the state up learns nothing.
      this.log.warn({ backend: bound.backend.id, item: bound.item, why: error.message }, 'a request state was refused');
      throw invalidState();
    }
  }
}

const invalidState = (): CortexError =>
  failure(
    'invalid_argument',
    'Invalid or expired requestState',
    { reason: 'invalid_request_state' },
    {},
    {
      code: RPC.invalidParams,
    },
  );

const contextOf = ({ caller, method }: Bound) => ({ purpose: 'state' as const, caller: caller.caller_key, method });

const digestOf = (args: unknown): string => sha256Hex(JSON.stringify(sorted(args ?? {})));

/** With the keys of every object in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([key, child]) => [key, sorted(child)]),
  );
}
