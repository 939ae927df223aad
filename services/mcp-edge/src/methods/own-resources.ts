import type { CallerContext } from '../seams.js';
import type { Json } from './types.js';

/** A resource of the edge itself; the first ones of every list. */
export interface OwnResource {
  readonly uri: string;
  /** As `resources/list` shows it: `uri`, `name` and what else clients are told. */
  readonly listing: Json;
  readonly mimeType: string;
  /** Its text for this caller. */
  read(caller: CallerContext): string;
}
