import { isToken, NO_WORKSPACE } from '@cortex/contracts';
import { CliError, EXIT } from '../exit.js';
import { readJson, writeJson, type Home } from '../home.js';

/** What was erased on demand, and when. It is applied again to every backup that is restored. */
export interface Erased {
  kind: 'workspace';
  id: string;
  at: string;
}

/** Whether this can be the id of a workspace: what stands in its place where there is none holds the commits of no workspace. */
export const isWorkspace = (id: string): boolean => isToken(id) && id !== NO_WORKSPACE;

/** The list of a home; of a file that is not there, none. */
export function readErased(file: string): Erased[] {
  const list = readJson<Erased[]>(file) ?? [];
  const good = (one: Partial<Erased> | null) =>
    one?.kind === 'workspace' && typeof one.id === 'string' && isWorkspace(one.id);
  if (Array.isArray(list) && list.every(good)) return list;
  throw new CliError(`${file} is no list of what was erased; give the config/erased.json of a home`, EXIT.usage);
}

/** Every list together, each thing once. */
export const together = (...lists: readonly Erased[][]): Erased[] =>
  [...new Map(lists.flat().map((one) => [`${one.kind} ${one.id}`, one])).values()].toSorted((a, b) =>
    a.at < b.at ? -1 : 1,
  );

/** Written down before anything is deleted: an erasure that broke off is then finished by the next restore. */
export function noteErased(home: Home, erased: Erased[]): void {
  writeJson(home.erased, together(readErased(home.erased), erased));
}
