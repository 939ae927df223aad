/** Events of `review.repo`, one aggregate per repository. Source: workspace-tools-1, section A.1. */
export type RepoEvent = {
  type: 'RepoAdded';
  /** `full_name`: `owner/name`, or the short name where it has no remote. */
  data: { repo_id: string; full_name: string; path: string; default_branch: string };
};
