import { randomUUID } from 'node:crypto';
import { unavailable } from '@cortex/contracts';
import type { ServiceHost } from '@cortex/service-kit';
import { Kysely, PostgresDialect, sql } from 'kysely';
import type { EdgeDb } from '../projections/tables.js';
import type { PersonBehind } from './caller.js';

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
  readonly #behind = new Map<string, PersonBehind | null>();
  readonly #minting = new Map<string, Promise<string>>();
  readonly #options: Required<PeopleOptions>;

  constructor(options: PeopleOptions) {
    this.#options = { now: Date.now, ...options };
  }

  static of(host: ServiceHost): People {
    const db = new Kysely<EdgeDb>({ dialect: new PostgresDialect({ pool: host.pool }) });
    return new People({ db, log: (level, message, fields) => host.log[level](fields, message) });
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

  /**
   * The id of somebody who is named and may never have come: whom an operator gives a place before the first login.
   * Nothing that a token said of them is changed.
   */
  async register({ issuer, sub }: Pick<PersonSeen, 'issuer' | 'sub'>): Promise<string> {
    const { db } = this.#options;
    await db
      .insertInto('people')
      .values({ person_id: newId(), issuer, sub, name: '', email: '', scopes: [], last_seen_at: null })
      .onConflict((oc) => oc.columns(['issuer', 'sub']).doNothing())
      .execute();
    const known = await this.find({ issuer, sub });
    if (known !== undefined) return known;
    throw unavailable('person', 'was erased at this moment', 'try again'); // between the two statements
  }

  /** The id of somebody who came or was registered; nothing is written. */
  async find({ issuer, sub }: Pick<PersonSeen, 'issuer' | 'sub'>): Promise<string | undefined> {
    const row = await this.#options.db
      .selectFrom('people')
      .select('person_id')
      .where('issuer', '=', issuer)
      .where('sub', '=', sub)
      .executeTakeFirst();
    return row?.person_id;
  }

  /** Scopes of the last verified token and when it was seen, null where none ever was; undefined for an id that nobody has. */
  async rightsOf(person_id: string): Promise<{ scopes: string[]; last_seen_at: Date | null } | undefined> {
    return this.#options.db
      .selectFrom('people')
      .select(['scopes', 'last_seen_at'])
      .where('person_id', '=', person_id)
      .executeTakeFirst();
  }

  /**
   * Who stands behind an agent's session; null for somebody who was erased. What was read before serves while
   * PostgreSQL is away; throws `unavailable` where nothing was.
   */
  async behind(person_id: string): Promise<PersonBehind | null> {
    try {
      const query = this.#options.db
        .selectFrom('people')
        .select(['issuer', 'sub', 'name', 'email'])
        .where('person_id', '=', person_id)
        .executeTakeFirst();
      const person = (await within(ANSWER_WITHIN_MS, query)) ?? null;
      this.#behind.delete(person_id);
      this.#behind.set(person_id, person);
      forgetOldest(this.#behind);
      return person;
    } catch (cause) {
      const known = this.#behind.get(person_id);
      if (known !== undefined) return known;
      throw unavailable(undefined, 'people cannot be looked up just now', 'try again in a moment', { cause });
    }
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
        .values({ person_id: newId(), issuer: person.issuer, sub: person.sub, ...seen(person) })
        .onConflict((oc) => oc.columns(['issuer', 'sub']).doUpdateSet(seen(person)))
        .returning('person_id')
        .executeTakeFirstOrThrow();
      const { person_id: id } = await within(ANSWER_WITHIN_MS, query);
      this.#known.set(key, { id, writtenAt: now() });
      forgetOldest(this.#known);
      return id;
    } catch (cause) {
      throw unavailable(undefined, 'people cannot be looked up just now', 'try again in a moment', { cause });
    }
  }

  async #touch(key: string, known: Known, person: PersonSeen): Promise<void> {
    try {
      const { numUpdatedRows } = await this.#options.db
        .updateTable('people')
        .set(seen(person))
        .where('person_id', '=', known.id)
        .executeTakeFirst();
      // The row was erased: the next token of this person is a first sight.
      if (numUpdatedRows === 0n) this.#known.delete(key);
    } catch (error) {
      this.#options.log('warn', 'the last sight of a person could not be written', { person_id: known.id, error });
    }
  }
}

const newId = (): string => `per_${randomUUID()}`;

/** PostgreSQL takes no NUL in a text. */
const seen = ({ name, email, scopes }: PersonSeen) => ({
  name: name.replaceAll('\0', ''),
  email: email.replaceAll('\0', ''),
  scopes: [...scopes].sort(),
  last_seen_at: sql<Date>`now()`,
});

function forgetOldest(known: Map<string, unknown>): void {
  for (const oldest of known.keys()) {
    if (known.size <= MAX_KNOWN) break;
    known.delete(oldest);
  }
}

function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${ms} ms`)), ms);
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}
