const LF = 10;

/** Cuts a stream of bytes into lines, whatever pieces it comes in. A last line without its line break is given by `rest`. */
export class Lines {
  #parts: Uint8Array[] = [];

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let from = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      this.#parts.push(chunk.subarray(from, end));
      from = end + 1;
      yield this.rest();
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
  }

  rest(): Uint8Array {
    const parts = this.#parts;
    this.#parts = [];
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }
}
