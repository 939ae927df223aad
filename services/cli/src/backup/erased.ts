import { isToken, NO_WORKSPACE } from '@cortex/contracts';
import * as z from 'zod';
import { CliError, EXIT } from '../exit.js';
import { readJson, writeJson, type Home } from '../home.js';

/** Whether this can be the id of a workspace: what stands in its place where there is none holds the commits of no workspace. */
export const isWorkspace = (id: string): boolean => isToken(id) && id !== NO_WORKSPACE;

const Erased = z.object({
  kind: z.literal('workspace'),
  id: z.string().refine(isWorkspace),
  // One form alone: moments are compared as texts.
  at: z.iso.datetime({ precision: 3 }),
});

/** What was erased on demand, and when (ISO 8601, UTC, with milliseconds). It is applied again to every backup that is restored. */
export type Erased = z.infer<typeof Erased>;

/** The list of a home; of a file that is not there, none. */
export function readErased(file: string): Erased[] {
  const list = z.array(Erased).safeParse(readJson(file) ?? []);
  if (list.success) return list.data;
  throw new CliError(`${file} is no list of what was erased; give the config/erased.json of a home`, EXIT.usage);
}

/**
 * Every list together, each thing once, with its last erasure: who is erased, made anew and erased again is to be gone from backups in
 * between, too.
 */
export function together(...lists: readonly Erased[][]): Erased[] {
  const byTime = lists.flat().toSorted((a, b) => (a.at < b.at ? -1 : 1));
  const last = new Map(byTime.map((one) => [`${one.kind} ${one.id}`, one]));
  return [...last.values()].toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

/** Written down before anything is deleted: an erasure that broke off is then finished by the next restore. */
export function noteErased(home: Home, erased: Erased[]): void {
  writeJson(home.erased, together(readErased(home.erased), erased));
}
