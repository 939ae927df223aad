import { Injectable } from '@nestjs/common';

const MOST_READERS = 2_000;
const MOST_FILES = 500;

/**
 * Which instruction files a session (or, without one, a caller) has been shown, and as of when. Kept in memory: after a
 * restart a file is shown once more, which harms nobody.
 */
@Injectable()
export class NotesShown {
  /** Reader to `<device>\0<path>` to modification time. Maps keep the order of insertion: the oldest goes first. */
  readonly #readers = new Map<string, Map<string, number>>();

  /** True when this version of the file is new to the reader; from then on it counts as shown. */
  take(reader: string, device: string, path: string, mtimeMs: number): boolean {
    const shown = this.#readers.get(reader) ?? new Map<string, number>();
    this.#readers.delete(reader);
    this.#readers.set(reader, shown);
    const key = `${device}\0${path}`;
    const isNew = shown.get(key) !== mtimeMs;
    shown.delete(key);
    shown.set(key, mtimeMs);
    dropOldest(shown, MOST_FILES);
    dropOldest(this.#readers, MOST_READERS);
    return isNew;
  }
}

function dropOldest<K>(map: Map<K, unknown>, most: number): void {
  if (map.size > most) map.delete(map.keys().next().value as K);
}
