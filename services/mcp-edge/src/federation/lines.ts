const LF = 10;

export interface LinesOptions {
  /** Bytes of a line. */
  readonly max: number;
  /** A line has more; told as soon as it is known, and nothing of it is given. */
  readonly tooLong: () => void;
}

/** Cuts a stream of bytes into lines, whatever pieces it comes in. A last line without its line break is given by `rest`. */
export class Lines {
  #parts: Uint8Array[] = [];
  #size = 0;

  constructor(private readonly options?: LinesOptions) {}

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let from = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      this.#take(chunk.subarray(from, end));
      from = end + 1;
      const fits = this.#fits;
      const line = this.rest();
      if (fits) yield line;
    }
    if (from < chunk.length) this.#take(chunk.subarray(from));
  }

  get #fits(): boolean {
    return this.options === undefined || this.#size <= this.options.max;
  }

  #take(part: Uint8Array): void {
    const fitted = this.#fits;
    this.#size += part.length;
    if (this.#fits) this.#parts.push(part);
    else if (fitted) {
      this.#parts = [];
      this.options?.tooLong();
    }
  }

  rest(): Uint8Array {
    const parts = this.#parts;
    this.#parts = [];
    this.#size = 0;
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }
}
