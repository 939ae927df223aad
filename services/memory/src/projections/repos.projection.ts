import type { RepoEvent } from '@cortex/contracts/repo';
import { defineProjection } from '@cortex/eventstore';
import { repoSlug } from '../domain/slug.js';
import type { MemoryDb } from './tables.js';

/** The repositories of a workspace: a domain may be for one of them. */
export const repos = defineProjection<RepoEvent, MemoryDb>({
  name: 'memory_repos_v1',
  subject: 'cortex.evt.review.*.repo.*',
  tables: ['repos'],
  on: {
    RepoAdded: ({ workspace, data: { repo_id, full_name } }, tx) =>
      tx
        .insertInto('repos')
        .values({ workspace_id: workspace, repo_id, full_name, slug: repoSlug(full_name) })
        .onConflict((oc) =>
          oc.columns(['workspace_id', 'repo_id']).doUpdateSet({ full_name, slug: repoSlug(full_name) }),
        )
        .execute(),
  },
});
