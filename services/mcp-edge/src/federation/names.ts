import { createHash } from 'node:crypto';

export type NameKind = 'tool' | 'prompt';

/** All that an exposed name is made of. */
export interface NameSource {
  /** Of the backend: its id, and what stands in front. */
  readonly id: string;
  readonly prefix: string;
  readonly kind: NameKind;
  readonly original: string;
}

const ALLOWED = /^[A-Za-z0-9_-]+$/;
const DIGEST = 8;
const SHORTEST = 4;

/**
 * The name under which a client knows an item: a pure function of prefix, backend, kind and original name, so every replica and every restart
 * gives the same one and no other item that comes or goes renames it. At most `max` characters of `A-Z a-z 0-9 _ -`. Source: gateway,
 * section 13.7.
 */
export function exposedName(source: NameSource, max: number): string {
  const full = source.prefix + source.original;
  return full.length <= max && ALLOWED.test(full) ? full : digestName(source, max);
}

/** The form that ends in a digest, for what does not fit as it is and for a name that another holds. */
export function digestName({ id, prefix, kind, original }: NameSource, max: number): string {
  const cleaned =
    original
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .replace(/[^A-Za-z0-9_-]+/g, '_')
      .replace(/^_+|_+$/g, '') || kind;
  const room = Math.max(SHORTEST, max - prefix.length - DIGEST - 1);
  const digest = createHash('sha256').update(`${kind}\n${id}\n${original}`, 'utf8').digest('hex').slice(0, DIGEST);
  return `${prefix}${cleaned.slice(0, room)}_${digest}`;
}

/** One item that wants a name. `claim` = the name that it holds already, from an earlier assignment. */
export interface Named extends NameSource {
  readonly claim?: string | undefined;
}

export interface Assigned<T> {
  readonly item: T;
  readonly exposed: string;
}
export interface Assignment<T> {
  readonly named: readonly Assigned<T>[];
  /** Sentences for the log: who lost a name to whom. */
  readonly collisions: readonly string[];
}

/**
 * Gives every item its name, in order; of two that want the same one whoever holds it keeps it, else the first. The other gets its backend's
 * default prefix, then the digest form; whose digest is taken too is left out. Names of `reserved` are given to nobody.
 */
export function assignNames<T extends Named>(
  items: readonly T[],
  reserved: (name: string) => boolean,
  max: number,
): Assignment<T> {
  const holders = new Map<string, T>();
  const collisions: string[] = [];
  for (const item of items)
    if (item.claim !== undefined && !reserved(item.claim) && !holders.has(item.claim)) holders.set(item.claim, item);
  const named: Assigned<T>[] = [];
  for (const item of items) {
    const wishes = wishesOf(item, max);
    const exposed = wishes.find((name) => !reserved(name) && (holders.get(name) ?? item) === item);
    const who = `${item.kind} ${item.id}/${item.original}`;
    if (exposed === undefined) {
      collisions.push(`${who} is left out, because every name for it is taken`);
      continue;
    }
    const [first] = wishes;
    if (exposed !== first && first !== undefined) {
      const holder = holders.get(first);
      const by = holder === undefined ? 'a tool of Cortex' : `${holder.id}/${holder.original}`;
      collisions.push(`${who} is called ${exposed}, because ${first} is ${by}`);
    }
    holders.set(exposed, item);
    named.push({ item, exposed });
  }
  return { named, collisions };
}

function wishesOf(item: NameSource, max: number): string[] {
  const first = exposedName(item, max);
  const byId = { ...item, prefix: `${item.id}_` };
  return [...new Set([first, exposedName(byId, max), digestName(byId, max)])];
}
