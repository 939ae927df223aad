import { randomUUID } from 'node:crypto';
import { unavailable } from '@cortex/contracts';
import { sql, type Kysely } from 'kysely';
import type { EdgeDb } from '../projections/tables.js';

/** What a verified token tells of the person behind it. */
export interface PersonSeen {
  issuer: string;
  sub: string;
  name: string;
  email: string;
  scopes: ReadonlySet<string>;
}

export interface PeopleOptions {
  db: Kysely<EdgeDb>;
  log: (level: 'warn', message: string, fields: Record<string, unknown>) => void;
  /** Milliseconds; for tests. */
  now?: () => number;
}

interface Known {
  id: string;
  /** When the row was written or a write was begun, in ms. */
  writtenAt: number;
}

const WRITE_EVERY_MS = 60_000;
const ANSWER_WITHIN_MS = 2_000;
const MAX_KNOWN = 100_000;

/**
 * The `per_` ids of people, minted at first sight. Known ones are answered from memory, so PostgreSQL may be away for them;
 * what else their token says is written beside the call, at most once a minute.
 */
export class People {
  readonly #known = new Map<string, Known>();
  readonly #minting = new Map<string, Promise<string>>();
  readonly #options: Required<PeopleOptions>;

  constructor(options: PeopleOptions) {
    this.#options = { now: Date.now, ...options };
  }

  /** Throws `unavailable` for somebody new while PostgreSQL is away. */
  idOf(person: PersonSeen): string | Promise<string> {
    const key = JSON.stringify([person.issuer, person.sub]);
    const known = this.#known.get(key);
    if (known === undefined) return this.#mint(key, person);
    const now = this.#options.now();
    if (now - known.writtenAt >= WRITE_EVERY_MS) {
      known.writtenAt = now;
      void this.#touch(key, known, person);
    }
    return known.id;
  }

  #mint(key: string, person: PersonSeen): Promise<string> {
    const pending = this.#minting.get(key);
    if (pending) return pending;
    const minting = this.#insert(key, person).finally(() => this.#minting.delete(key));
    this.#minting.set(key, minting);
    return minting;
  }

  async #insert(key: string, person: PersonSeen): Promise<string> {
    const { db, now } = this.#options;
    try {
      // One statement for both: of two edges that see somebody first at once, one inserts and both read its id.
      const query = db
        .insertInto('people')
        .values({ person_id: `per_${randomUUID()}`, issuer: person.issuer, sub: person.sub, ...profile(person) })
        .onConflict((oc) =>
          oc.columns(['issuer', 'sub']).doUpdateSet({ ...profile(person), last_seen_at: sql<Date>`now()` }),
        )
        .returning('person_id')
        .executeTakeFirstOrThrow();
      const { person_id: id } = await within(ANSWER_WITHIN_MS, query);
      this.#known.set(key, { id, writtenAt: now() });
      for (const oldest of this.#known.keys()) {
        if (this.#known.size <= MAX_KNOWN) break;
        this.#known.delete(oldest);
      }
      return id;
    } catch (cause) {
      throw unavailable(undefined, 'people cannot be looked up just now', 'try again in a moment', { cause });
    }
  }

  async #touch(key: string, known: Known, person: PersonSeen): Promise<void> {
    try {
      const { numUpdatedRows } = await this.#options.db
        .updateTable('people')
        .set({ ...profile(person), last_seen_at: sql<Date>`now()` })
        .where('person_id', '=', known.id)
        .executeTakeFirst();
      // The row was erased: the next token of this person is a first sight.
      if (numUpdatedRows === 0n) this.#known.delete(key);
    } catch (error) {
      this.#options.log('warn', 'the last sight of a person could not be written', { person_id: known.id, error });
    }
  }
}

/** PostgreSQL takes no NUL in a text. */
const profile = ({ name, email, scopes }: PersonSeen) => ({
  name: name.replaceAll('\0', ''),
  email: email.replaceAll('\0', ''),
  scopes: [...scopes].sort(),
});

function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${ms} ms`)), ms);
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}
