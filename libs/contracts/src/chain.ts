/**
 * A signed point of the hash chain over `CORTEX_CALLS`: everything up to `seq` was as `hash` says. Source: architecture, section 9.
 * `signature`: base64url, Ed25519 over `anchorText`. `key`: the public half, 32 bytes, base64url.
 */
export interface Anchor {
  /** ISO 8601. */
  at: string;
  /** Stream sequence of the last record that it covers. */
  seq: number;
  /** h(seq), 64 hex digits. */
  hash: string;
  key: string;
  signature: string;
}

/** Of `audit.chain`, id `calls`. */
export type ChainEvent = { type: 'CallsAnchored'; data: Anchor };

/** What an anchor's signature is over. */
export const anchorText = ({ at, seq, hash }: Pick<Anchor, 'at' | 'seq' | 'hash'>): string =>
  `cortex audit anchor 1\nCORTEX_CALLS\n${seq}\n${hash}\n${at}`;
