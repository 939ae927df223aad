import { notFound } from '@cortex/contracts';
import { text } from '@cortex/service-kit';
import type { Kysely } from 'kysely';
import type { MemoryDb } from '../projections/tables.js';

/** The argument that names a repository, with what it is for. */
export const repoArgument = (purpose: string) =>
  text({ max: 200 }).describe(`${purpose}: a repository by id, owner/name or slug`).optional();

/**
 * The scope slug of a repository named by id, `owner/name` or slug; null where none is named. Errors: `not_found` (repo):
 * never the whole workspace instead.
 */
export async function findRepo(db: Kysely<MemoryDb>, named: string | undefined): Promise<string | null> {
  if (named === undefined) return null;
  const row = await db
    .selectFrom('repos')
    .select('slug')
    .where((eb) =>
      eb.or([
        eb('repo_id', '=', named),
        eb(eb.fn<string>('lower', ['full_name']), '=', eb.fn<string>('lower', [eb.val(named)])),
        eb('slug', '=', named),
      ]),
    )
    .limit(1)
    .executeTakeFirst();
  if (row) return row.slug;
  throw notFound('repo', 'names no repository of this workspace', 'leave it out for the whole workspace');
}
