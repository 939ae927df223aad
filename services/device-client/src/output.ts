import { StringDecoder } from 'node:string_decoder';
import { charCount, firstChars, lastChars } from '@cortex/contracts/text';

/**
 * Keeps the head (60 %) and the tail (40 %) of a stream of any length in bounded memory; between them stands how many
 * characters were left out.
 */
export class CappedText {
  readonly #decoder = new StringDecoder('utf8');
  readonly #headRoom: number;
  readonly #tailRoom: number;
  #head = '';
  #headChars = 0;
  #tail = '';
  #total = 0;

  constructor(limit: number) {
    this.#headRoom = Math.floor(limit * 0.6);
    this.#tailRoom = limit - this.#headRoom;
  }

  add(chunk: Buffer): void {
    this.#take(this.#decoder.write(chunk));
  }

  #take(text: string): void {
    if (text === '') return;
    this.#total += charCount(text);
    let rest = text;
    if (this.#headChars < this.#headRoom) {
      const piece = firstChars(text, this.#headRoom - this.#headChars);
      this.#head += piece;
      this.#headChars += charCount(piece);
      rest = text.slice(piece.length);
    }
    if (rest === '') return;
    this.#tail += rest;
    // Cut now and then, not at every piece: a character takes at most two units.
    if (this.#tail.length > this.#tailRoom * 4) this.#tail = lastChars(this.#tail, this.#tailRoom);
  }

  /** The kept text; call it once, at the end. */
  finish(): string {
    this.#take(this.#decoder.end());
    const tail = lastChars(this.#tail, this.#tailRoom);
    const left = this.#total - this.#headChars - charCount(tail);
    return left === 0 ? this.#head + tail : `${this.#head}\n[... ${left} characters left out ...]\n${tail}`;
  }
}
