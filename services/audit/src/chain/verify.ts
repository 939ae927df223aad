import type { Anchor } from '@cortex/contracts/chain';
import { isSignedBy } from './anchor-key.js';
import { GENESIS, linkAt, nextLink, type Block } from './links.js';

/** What does not fit, by the sequence in the stream. `text` is for people. */
export interface ChainFault {
  /**
   * `changed`: its bytes are not those that were hashed. `missing`: it was hashed, and the stream has it no more. `inserted`: it stands where
   * none was hashed. `rewritten`: records and chain fit each other but not the anchor. `forged_anchor`: none of our keys signed it.
   */
  kind: 'changed' | 'missing' | 'inserted' | 'rewritten' | 'forged_anchor';
  seq: number;
  text: string;
}

/** What a verification found out. */
export interface Verdict {
  /** The first one. */
  fault: ChainFault | null;
  /** Of the records that are there; null where there are none. */
  first_seq: number | null;
  last_seq: number | null;
  /** Records that are as they were hashed. */
  records: number;
  /** Anchors that fit. Of those whose records have left the stream the signature alone is looked at. */
  anchors: number;
  last_anchor: Pick<Anchor, 'seq' | 'at'> | null;
  /** Records that are not hashed yet; it takes seconds. */
  unproven: number;
}

/** What a verification looks at; how it was come by is its caller's affair. */
export interface Evidence {
  /** As the stream has them, in order, from its first. */
  records: AsyncIterable<{ seq: number; data: Uint8Array }>;
  /** In order. */
  blocks: AsyncIterable<Block>;
  /** From wherever they were kept, some perhaps twice. */
  anchors: readonly Anchor[];
  /** Public keys of our own, base64url. */
  keys: ReadonlySet<string>;
  /** First sequence of the stream now: records leave it by age while it is read. */
  firstSeq(): Promise<number>;
  /** Time before which records may have left the stream by age. */
  keptSince: Date;
}

class Found extends Error {
  constructor(readonly fault: ChainFault) {
    super(fault.text);
  }
}
const found = (kind: ChainFault['kind'], seq: number, text: string): Found => new Found({ kind, seq, text });

/**
 * Holds the records of the stream against the hashes that were taken when they came, and these against the signed anchors. Ends at the first
 * fault. Who changes records and hashes alike is found at the next anchor; who takes away what is older than the last one kept, by its time.
 */
export async function verifyChain(evidence: Evidence): Promise<Verdict> {
  const chain = new Chain(evidence);
  const verdict: Verdict = {
    fault: null,
    first_seq: null,
    last_seq: null,
    records: 0,
    anchors: 0,
    last_anchor: null,
    unproven: 0,
  };
  try {
    chain.takeAnchors();
    await chain.next();
    for await (const { seq, data } of evidence.records) {
      if (verdict.first_seq === null) {
        verdict.first_seq = seq;
        await chain.beginAt(seq);
      } else await chain.skipTo(seq);
      verdict.last_seq = seq;
      if (await chain.proves(seq, data)) verdict.records++;
      else verdict.unproven++;
    }
    if (verdict.first_seq === null) await chain.beginAt(await evidence.firstSeq());
    await chain.end();
  } catch (error) {
    if (!(error instanceof Found)) throw error;
    verdict.fault = error.fault;
  }
  return { ...verdict, anchors: chain.fitting, last_anchor: chain.lastAnchor };
}

/** The way along the hashes, one after the other. */
class Chain {
  fitting = 0;
  lastAnchor: Verdict['last_anchor'] = null;
  readonly #links: AsyncIterator<{ seq: number; hash: Buffer }>;
  readonly #anchors = new Map<number, Anchor>();
  #link: { seq: number; hash: Buffer } | undefined;
  #before: Uint8Array = GENESIS;
  #first = 0;

  constructor(private readonly evidence: Evidence) {
    this.#links = linksOf(evidence.blocks);
  }

  takeAnchors(): void {
    const { anchors, keys } = this.evidence;
    for (const anchor of anchors) {
      const { seq, hash } = anchor;
      if (!isSignedBy(anchor, keys))
        throw found('forged_anchor', seq, `none of our keys signed the anchor of record ${seq}`);
      const other = this.#anchors.get(seq);
      if (other !== undefined && other.hash !== hash)
        throw found('rewritten', seq, `there are two anchors of record ${seq}, and they differ`);
      this.#anchors.set(seq, anchor);
    }
  }

  async next(): Promise<void> {
    const step = await this.#links.next();
    this.#link = step.done ? undefined : step.value;
  }

  /** What is older has left the stream; what is too young for that was taken. */
  async beginAt(first: number): Promise<void> {
    this.#first = first;
    for (const { seq, at } of this.#anchors.values()) {
      if (seq < first && Date.parse(at) > this.evidence.keptSince.getTime())
        throw found('missing', seq, `record ${seq} of ${at} has left the stream before its time`);
      if (seq < first) this.#anchors.delete(seq);
    }
    for (; this.#link !== undefined && this.#link.seq < first; await this.next()) this.#before = this.#link.hash;
  }

  /** Over hashes of which the stream has no records. */
  async skipTo(seq: number): Promise<void> {
    for (; this.#link !== undefined && this.#link.seq < seq; await this.next()) {
      const { seq: gone } = this.#link;
      if (gone >= this.#first) this.#first = await this.evidence.firstSeq();
      if (gone >= this.#first) throw found('missing', gone, `record ${gone} was hashed and is gone`);
      this.#passed(this.#link);
    }
  }

  /** False where the chain has not come so far. */
  async proves(seq: number, data: Uint8Array): Promise<boolean> {
    if (this.#link === undefined) return false;
    if (this.#link.seq > seq) throw found('inserted', seq, `record ${seq} stands where none was hashed`);
    if (!nextLink(this.#before, seq, data).equals(this.#link.hash))
      throw found('changed', seq, `record ${seq} is not what it was when it was hashed`);
    this.#passed(this.#link);
    await this.next();
    return true;
  }

  async end(): Promise<void> {
    await this.skipTo(Number.POSITIVE_INFINITY);
    const [lost] = this.#anchors.keys();
    if (lost !== undefined)
      throw found('missing', lost, `record ${lost} was anchored, and neither it nor its hash is there`);
  }

  #passed({ seq, hash }: { seq: number; hash: Buffer }): void {
    this.#before = hash;
    const anchor = this.#anchors.get(seq);
    if (anchor === undefined) return;
    if (anchor.hash !== hash.toString('hex')) {
      const since = this.lastAnchor === null ? 'the first record' : `record ${this.lastAnchor.seq + 1}`;
      throw found('rewritten', seq, `records and hashes were made anew, somewhere from ${since} to record ${seq}`);
    }
    this.#anchors.delete(seq);
    this.fitting++;
    this.lastAnchor = { seq, at: anchor.at };
  }
}

async function* linksOf(blocks: AsyncIterable<Block>): AsyncGenerator<{ seq: number; hash: Buffer }> {
  for await (const block of blocks) {
    for (let seq = block.first_seq; seq <= block.last_seq; seq++) yield { seq, hash: linkAt(block, seq) };
  }
}
