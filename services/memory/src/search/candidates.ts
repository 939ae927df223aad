import type { AgentRole } from '@cortex/contracts/agent';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { domainSlug } from '../domain/slug.js';
import type { MemoryDb } from '../projections/tables.js';

/** What of the workspace's facts a search looks at. */
export interface Scope {
  /** ISO 8601; a fact that has expired by then is not there. */
  now: string;
  /** Full slugs; null: all. */
  domains: readonly string[] | null;
}

export interface Hit {
  id: string;
  score: number;
}

export interface Candidate {
  id: string;
  domain: string;
  topic: string;
  content: string;
  memory_type: MemoryDb['facts']['memory_type'];
  confidence: number;
  place: number;
  created_at: Date;
}

/**
 * The domains that match a filter and that the role may read; null where that is all of them. A bare name stands for the
 * domain in every scope. `role` null sees all. Errors: `invalid_argument` (domain).
 */
export async function readableDomains(
  db: Kysely<MemoryDb>,
  filter: string | undefined,
  role: AgentRole | null,
): Promise<string[] | null> {
  const hidden = role === null ? [] : await hiddenFrom(db, role);
  if (filter === undefined && hidden.length === 0) return null;
  let query = db.selectFrom('domains').select('domain');
  if (filter !== undefined) {
    query = filter.startsWith('repo:')
      ? query.where('domain', '=', filter)
      : query.where('domain_name', '=', domainSlug(filter, null).domain_name);
  }
  if (hidden.length > 0) query = query.where('domain_name', 'not in', hidden);
  return (await query.execute()).map(({ domain }) => domain);
}

async function hiddenFrom(db: Kysely<MemoryDb>, role: AgentRole): Promise<string[]> {
  const rows = await db
    .selectFrom('grants')
    .select('domain_name')
    .where('role', '=', role)
    .where('permission', '=', 'none')
    .execute();
  return rows.map(({ domain_name }) => domain_name);
}

/**
 * The facts whose topic and content hold some of the tokens, each given once, by BM25 (k1 1.2, b 0.75) over the active facts
 * of the whole workspace; of equals the newer first. Word statistics count the domains out of scope on purpose: a rare word
 * is rare whichever domain is searched.
 */
export async function lexical(
  db: Kysely<MemoryDb>,
  terms: readonly string[],
  scope: Scope,
  most: number,
): Promise<Hit[]> {
  if (terms.length === 0) return [];
  return (await lexicalQuery(terms, scope, most).execute(db)).rows;
}

/** The statement of it, so that a test can ask how it is run. */
export const lexicalQuery = (terms: readonly string[], { now, domains }: Scope, most: number): RawBuilder<Hit> => sql`
    with totals as materialized (
      select (t.facts - e.facts)::float8 as n, (t.tokens - e.tokens)::float8 / nullif(t.facts - e.facts, 0) as avg_tokens
        from fact_totals t, (
          select count(*) as facts, coalesce(sum(tokens), 0) as tokens from facts
           where superseded_by is null and valid_until <= ${now}::timestamptz) e
    ), weights as materialized (
      select term, 2.2::float8 * ln(1 + (n - df + 0.5) / (df + 0.5)) as weight
        from totals, (
          select w.term, (w.facts - (select count(*) from fact_terms e
                   where e.term = w.term and e.valid_until <= ${now}::timestamptz))::float8 as df
            from term_totals w where w.term = any(${terms}::text[])) d
    ), best as (
      select place, sum(weight * tf / (tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * tokens / avg_tokens))) as score
        from fact_terms t join weights using (term), totals
       where t.term = any(${terms}::text[]) and (t.valid_until is null or t.valid_until > ${now}::timestamptz)
         and (${domains}::text[] is null or t.domain = any(${domains}::text[]))
       group by place
       order by score desc, place desc
       limit ${most}
    )
    select f.id, best.score from best join facts f using (place) order by best.score desc, best.place desc`;

/**
 * Those of the tokens that stand in the fewest facts, as many as stand in at most `postings` facts together: what looks for
 * these alone takes a bounded time.
 */
export async function rarest(db: Kysely<MemoryDb>, terms: readonly string[], postings: number): Promise<string[]> {
  if (terms.length === 0) return [];
  const { rows } = await sql<{ term: string }>`
    select term from (
      select term, sum(facts) over (order by facts, term) as together from term_totals
       where term = any(${terms}::text[]) and facts > 0) t
     where together <= ${postings}`.execute(db);
  return rows.map(({ term }) => term);
}

/** The newest active facts, newest first. */
export async function newest(db: Kysely<MemoryDb>, scope: Scope, most: number): Promise<string[]> {
  const rows = await active(db, scope).select('f.id').orderBy('f.place', 'desc').limit(most).execute();
  return rows.map(({ id }) => id);
}

/** Those of the facts that are active and in the scope, by id. */
export async function candidates(
  db: Kysely<MemoryDb>,
  ids: readonly string[],
  scope: Scope,
): Promise<Map<string, Candidate>> {
  if (ids.length === 0) return new Map();
  const rows = await active(db, scope)
    .select(['f.id', 'f.domain', 'f.topic', 'f.content', 'f.memory_type', 'f.confidence', 'f.place', 'f.created_at'])
    .where('f.id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, { ...row, place: Number(row.place) }]));
}

/** The active facts of the scope that a link leads to from one of these, and over which weight. */
export async function neighbours(
  db: Kysely<MemoryDb>,
  ids: readonly string[],
  scope: Scope,
  most: number,
): Promise<{ from: string; id: string; weight: number }[]> {
  if (ids.length === 0) return [];
  const onwards = db
    .selectFrom('fact_links')
    .select(['source as from', 'target as to', 'weight'])
    .where('source', 'in', ids)
    .unionAll(
      db.selectFrom('fact_links').select(['target as from', 'source as to', 'weight']).where('target', 'in', ids),
    );
  return active(db, scope)
    .innerJoin(onwards.as('l'), 'l.to', 'f.id')
    .select(['l.from', 'f.id', 'l.weight'])
    .orderBy('l.weight', 'desc')
    .orderBy('f.id')
    .limit(most)
    .execute();
}

function active(db: Kysely<MemoryDb>, { now, domains }: Scope) {
  const query = db
    .selectFrom('facts as f')
    .where('f.superseded_by', 'is', null)
    .where(sql<boolean>`(f.valid_until is null or f.valid_until > ${now}::timestamptz)`);
  return domains === null ? query : query.where(sql<boolean>`f.domain = any(${domains}::text[])`);
}
