/** Of one commit, as JSON; a definition may stand in an event twice, and a server takes 1 MiB. */
const COMMIT_BYTES = 256 * 1024;

/** Of the events about an item: its name may stand in two of them, each beside digests, reasons and a seal. */
export const sizeOf = (name: string, bytes: number): number => bytes + 4 * Buffer.byteLength(name) + 512;

/** Those of one commit each. At least one, maybe empty: the last one says what is gone. */
export function chunks<T>(items: readonly T[], bytesOf: (item: T) => number): T[][] {
  const parts: T[][] = [[]];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item);
    if (bytes > 0 && bytes + size > COMMIT_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(item);
    bytes += size;
  }
  return parts;
}
