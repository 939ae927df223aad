import { invalidArgument } from '@cortex/contracts';
import { holdsScopeOf, wantsPerson } from '../federation/reach.js';
import type { Shelf } from '../federation/shelf.js';
import type { EdgeScope } from '../edge-scope.js';

type Asking = Pick<EdgeScope, 'caller' | 'federation'>;

/** What `contextApp` says where it means Cortex itself. */
export const CORTEX = 'cortex';

/** Backends that keep their own tickets and may be asked for this caller: it has a scope there, and a token to show. */
export const ownersFor = ({ caller, federation }: Asking): Shelf[] =>
  [...federation.shelves.values()].filter(
    ({ backend }) => backend.ownsTickets && holdsScopeOf(backend, caller) && !wantsPerson(backend, caller),
  );

/**
 * The backend in whose hands tickets of this app are, for this caller; undefined: they are ours. Errors: `invalid_argument` (contextApp)
 * for what is no app.
 */
export function ownerOf(scope: Asking, contextApp: string | null): Shelf | undefined {
  if (contextApp === null || contextApp === CORTEX) return undefined;
  const { caller, federation } = scope;
  if (!federation.shelves.has(contextApp)) {
    const known = [...federation.shelves.values()].filter(({ backend }) => holdsScopeOf(backend, caller));
    const names = [CORTEX, ...known.map(({ backend }) => backend.id)].join(', ');
    throw invalidArgument('contextApp', 'names no connected app', `use one of ${names}, or leave it out`);
  }
  return ownersFor(scope).find(({ backend }) => backend.id === contextApp);
}
