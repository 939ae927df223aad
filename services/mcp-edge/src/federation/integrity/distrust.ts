import type { CatalogState } from './catalog-state.js';

/** Why approvals cannot be believed, and how to get out of that. */
export interface Doubt {
  readonly why: string;
  readonly fix: string;
}

/** What the log says was approved cannot be believed. */
export class Distrust extends Error implements Doubt {
  constructor(
    readonly why: string,
    readonly fix: string,
    readonly state: CatalogState,
  ) {
    super(`${why}; ${fix}`);
  }
}
