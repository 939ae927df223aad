import { hash } from 'node:crypto';

/** Bytes of one h(n). */
const LINK_BYTES = 32;
/** h before the first record. */
export const GENESIS = Buffer.alloc(LINK_BYTES);

/** h(n) = SHA-256(h(n-1) | sequence as 8 bytes, big-endian | body). Source: architecture, section 9. */
export function nextLink(before: Uint8Array, seq: number, body: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(LINK_BYTES + 8 + body.length);
  bytes.set(before, 0);
  bytes.writeBigUInt64BE(BigInt(seq), LINK_BYTES);
  bytes.set(body, LINK_BYTES + 8);
  return hash('sha256', bytes, 'buffer');
}

/** Links of records whose sequences follow each other: `hashes` is their h, one after the other. */
export interface Block {
  first_seq: number;
  last_seq: number;
  hashes: Buffer;
}

/** h of one record of the block. */
export const linkAt = ({ first_seq, hashes }: Block, seq: number): Buffer => {
  const at = (seq - first_seq) * LINK_BYTES;
  return hashes.subarray(at, at + LINK_BYTES);
};

/** The links of these records, which are in order. A sequence that is missing begins a new block. */
export function blocksOf(before: Uint8Array, records: readonly { seq: number; data: Uint8Array }[]): Block[] {
  const blocks: { first_seq: number; last_seq: number; links: Buffer[] }[] = [];
  let link = before;
  for (const { seq, data } of records) {
    const open = blocks.at(-1);
    const made = nextLink(link, seq, data);
    if (open !== undefined && open.last_seq + 1 === seq) {
      open.links.push(made);
      open.last_seq = seq;
    } else blocks.push({ first_seq: seq, last_seq: seq, links: [made] });
    link = made;
  }
  return blocks.map(({ first_seq, last_seq, links }) => ({ first_seq, last_seq, hashes: Buffer.concat(links) }));
}
