/** What the record of a `tools/list` tells of it. */
export interface ListSize {
  readonly tools: number;
  readonly characters: number;
}
const sizes = new WeakMap<Buffer, ListSize>();

/** The bytes of a list, of which `sizeOf` tells the size without another look at them. */
export function listBytes(text: string, tools: number): Buffer {
  const bytes = Buffer.from(text);
  sizes.set(bytes, { tools, characters: text.length });
  return bytes;
}

/** Undefined for bytes that `listBytes` did not make. */
export const sizeOf = (list: Buffer): ListSize | undefined => sizes.get(list);
