import type { Declared, Reviewed } from '../types.js';
import { catalog } from './catalog.decider.js';
import { type CatalogState, keyOf } from './catalog-state.js';
import type { Observed } from './fingerprint.js';

/** What of the definitions of one backend is known here. */
export interface Known {
  state: CatalogState;
  /** Of the newest commit in a log that the witness had nothing to add to; undefined before. */
  seq: number | undefined;
  /** Why its approvals cannot be believed; nothing of it is offered then, and nothing is written. */
  degraded: string | undefined;
  declared: Declared | undefined;
  reviewed: Reviewed | undefined;
  /** Items of the last review that are held back without being recorded, since no more of a backend are kept. */
  beyond: number;
  /** Why the last review could read or record nothing, and what it held back by that. */
  unread: { why: string; waiting: readonly Observed[] } | undefined;
  /** Declared items that can be offered to nobody, as they were told. */
  unfit: ReadonlySet<string>;
}

export const nothingKnown = (): Known => ({
  state: catalog.initial,
  seq: undefined,
  degraded: undefined,
  declared: undefined,
  reviewed: undefined,
  beyond: 0,
  unread: undefined,
  unfit: NONE,
});

/** Of one definition, as JSON. More is no tool that a model could be shown. */
const MAX_DEFINITION = 384 * 1024;
const MAX_NAME_BYTES = 1024;
export const UNFIT = `items are not offered: their name is over ${MAX_NAME_BYTES} bytes or has controls, or their definition is over ${MAX_DEFINITION}`;
export const NONE: ReadonlySet<string> = new Set();
/** PostgreSQL takes no NUL, and a name with other controls is none that a person could decide about. */
export const fits = ({ name, bytes }: Observed): boolean =>
  Buffer.byteLength(name) <= MAX_NAME_BYTES && !/\p{Cc}/u.test(name) && bytes <= MAX_DEFINITION;

export const keysOf = ({ tools, prompts, templates, resources }: Declared): string[] => [
  ...tools.map(({ original }) => keyOf({ kind: 'tool', name: original })),
  ...prompts.map(({ original }) => keyOf({ kind: 'prompt', name: original })),
  ...templates.map(({ uriTemplate }) => keyOf({ kind: 'template', name: uriTemplate })),
  ...resources.map(({ uri }) => keyOf({ kind: 'resource', name: uri })),
];
