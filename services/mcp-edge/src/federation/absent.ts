import type { Names } from './claims.js';
import type { Shelf } from './shelf.js';

/** What of a shelf says whether its backend is away, and whose names it has. */
export type OnAbsence = Pick<Shelf, 'backend' | 'healthy' | 'awaySince' | 'problem'>;

/**
 * The backend that is away and whose tool has this exposed name; undefined where there is none. One that was heard, or whose names were kept,
 * has the names that it held; of one that was never heard since the start only its prefix is known. A tool that is there is nobody's here.
 */
export function absentOwner<S extends OnAbsence>(name: string, shelves: Iterable<S>, names: Names): S | undefined {
  const all = [...shelves];
  const holder = all.find(({ backend }) => [...(names.get(backend.id)?.values() ?? [])].includes(name));
  const owner = holder ?? longest(all.filter(({ backend: { prefix } }) => prefix !== '' && name.startsWith(prefix)));
  if (owner?.healthy !== false) return undefined;
  // Whoever holds names would hold this one as well.
  return holder !== undefined || (names.get(owner.backend.id)?.size ?? 0) === 0 ? owner : undefined;
}

/** `home-lab_` is not of `home-`. */
const longest = <S extends OnAbsence>(shelves: readonly S[]): S | undefined =>
  shelves.reduce<S | undefined>(
    (best, one) => (best === undefined || one.backend.prefix.length > best.backend.prefix.length ? one : best),
    undefined,
  );
