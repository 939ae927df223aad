/** What a prepared `tools/list` was made of: the definitions as texts, and the other members of its result, each with a comma before it. */
export interface ListParts {
  readonly tools: readonly string[];
  readonly rest: string;
  /** Of the whole. */
  readonly characters: number;
}
const parts = new WeakMap<Buffer, ListParts>();

/** The bytes of a list; what they are made of is kept with them, so that nobody has to read them again. */
export function listBytes(tools: readonly string[], rest: string): Buffer {
  const text = `{"tools":[${tools.join(',')}]${rest}}`;
  const bytes = Buffer.from(text);
  parts.set(bytes, { tools, rest, characters: text.length });
  return bytes;
}

/** Undefined for bytes that `listBytes` did not make. */
export const partsOfList = (list: Buffer): ListParts | undefined => parts.get(list);
