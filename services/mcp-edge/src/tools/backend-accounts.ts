import { isObject } from '@cortex/contracts/is-object';
import type { ToolContext } from '@cortex/service-kit';
import { bounded } from '../federation/bounded.js';
import { failureOf } from '../federation/failures.js';
import { stripOwnMeta } from '../federation/own-meta.js';
import { toldBy } from '../federation/provenance.js';
import { holdsScopeOf, wantsPerson } from '../federation/reach.js';
import type { Shelf } from '../federation/shelf.js';
import type { Backend, BackendAnswer } from '../federation/types.js';
import type { EdgeScope } from '../edge-scope.js';

/** Milliseconds that a backend has to say who the caller is to it; one that streams does not get more. */
const PATIENCE_MS = 5_000;
/** Characters of JSON that one backend may say. */
const MAX_ACCOUNT = 64 * 1024;
const METHOD = 'whoami';
/** What only the gateway says of a backend. */
const OURS = new Set(['app_id', 'healthy']);

/** Who the caller is to one backend, as far as that says. */
export interface BackendAccount {
  readonly backend: Backend;
  readonly known: { app_id: string; healthy: boolean; error?: string };
  /** In the backend's own fields; undefined where it failed or has nothing to say. */
  readonly said?: Readonly<Record<string, unknown>>;
}
type Asking = Pick<EdgeScope, 'caller' | 'federation' | 'traceparent'>;
type Calling = Pick<ToolContext, 'call_id' | 'signal' | 'log'>;

/**
 * Asks every backend of which the caller holds a scope who the caller is to it, all at once and under the caller's own token; in the order of
 * the backends. Never rejects: what goes wrong at one of them is its own account.
 */
export function accountsOf(scope: Asking, call: Calling): Promise<BackendAccount[]> {
  const { caller, federation } = scope;
  const shelves = [...federation.shelves.values()].filter(
    ({ backend }) => holdsScopeOf(backend, caller) && !wantsPerson(backend, caller),
  );
  return Promise.all(shelves.map((shelf) => accountOf(shelf, scope, call)));
}

async function accountOf(shelf: Shelf, { caller, traceparent }: Asking, call: Calling): Promise<BackendAccount> {
  const { backend, client, healthy } = shelf;
  const app_id = backend.id;
  const failed = (error: string): BackendAccount => ({ backend, known: { app_id, healthy: false, error } });
  if (healthy !== true) return failed(`Backend ${app_id} ${healthy === null ? 'was not asked yet' : 'unavailable'}`);
  const pending = client.call({
    method: METHOD,
    params: '{}',
    as: caller,
    requestId: call.call_id,
    traceparent,
    timeoutMs: PATIENCE_MS,
  });
  const answer = await bounded(pending, PATIENCE_MS, call.signal);
  // A backend need not have the method: it is there all the same.
  if (answer.kind === 'refused' && answer.status === 404) return { backend, known: { app_id, healthy: true } };
  const said = answer.kind === 'result' ? saidIn(answer) : answer;
  if ('fields' in said) return { backend, known: { app_id, healthy: true }, said: said.fields };
  if (said.kind === 'invalid') call.log.warn({ backend: app_id, why: said.why }, 'a backend sent an invalid response');
  const { message } = failureOf(backend, said, METHOD, toldBy(backend, caller));
  const reason =
    said.kind === 'refused' && said.status === 403 && caller.session === undefined ? said.error : undefined;
  return failed(reason === undefined ? message : `${message}: ${reason}`);
}

function saidIn({
  native,
  text,
  value,
}: Extract<BackendAnswer, { kind: 'result' }>): { fields: Record<string, unknown> } | { kind: 'invalid'; why: string } {
  if (text.length > MAX_ACCOUNT) return { kind: 'invalid', why: `its account has more than ${MAX_ACCOUNT} characters` };
  try {
    stripOwnMeta(value);
  } catch {
    return { kind: 'invalid', why: 'its account is nested too deeply' };
  }
  const given = native && isObject(value) ? (value['structuredContent'] ?? { content: value['content'] }) : value;
  const fields = isObject(given) ? given : { [METHOD]: given };
  return { fields: Object.fromEntries(Object.entries(fields).filter(([key]) => !OURS.has(key))) };
}
