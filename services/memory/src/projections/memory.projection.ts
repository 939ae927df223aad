import type { DomainEvent, FactEvent } from '@cortex/contracts/memory';
import { defineProjection } from '@cortex/eventstore';
import { sql } from 'kysely';
import { parseDomain } from '../domain/slug.js';
import { termCounts } from '../search/tokens.js';
import type { MemoryDb } from './tables.js';

/** More events than a commit can hold. */
const PLACES = 10_000;

/** Where an event stands among all events: a number that grows, and that a rebuild finds again. */
const placeOf = ({ seq, index }: { seq: number; index: number }): number => seq * PLACES + index;

/**
 * The memory of a workspace: domains, grants, facts, and the words by which facts are found. One view of all that the service
 * records, so that a read waits for the caller's last write whatever that was.
 *
 * The words are our own tokens and not PostgreSQL's full text: the score is made of exactly these (BM25 over stemmed words
 * and CJK pairs). Words are kept of facts that are not superseded.
 */
export const memory = defineProjection<DomainEvent | FactEvent, MemoryDb>({
  name: 'memory_v1',
  subject: 'cortex.evt.memory.*.*.*',
  tables: ['domains', 'grants', 'facts', 'fact_terms', 'fact_links', 'term_totals', 'fact_totals'],
  on: {
    MemoryDomainCreated: ({ workspace, at, data: { label, description, created_by_role, domain } }, tx) =>
      tx
        .insertInto('domains')
        .values({
          workspace_id: workspace,
          ...parseDomain(domain),
          label,
          description,
          created_by_role,
          created_at: at,
        })
        .onConflict((oc) => oc.columns(['workspace_id', 'domain']).doNothing())
        .execute(),
    MemoryAccessGranted: ({ workspace, data: { domain_name, role, permission } }, tx) =>
      tx
        .insertInto('grants')
        .values({ workspace_id: workspace, domain_name, role, permission })
        .onConflict((oc) => oc.columns(['workspace_id', 'domain_name', 'role']).doUpdateSet({ permission }))
        .execute(),
    MemoryFactRecorded: (event, tx) => {
      const { workspace, at, data } = event;
      const { fact } = data;
      const counts = termCounts(`${fact.topic} ${fact.content}`);
      const tokens = [...counts.values()].reduce((sum, tf) => sum + tf, 0);
      // One statement: an id that is taken (a log put together of two) adds no words and is not counted.
      return tx
        .with('added', (db) =>
          db
            .insertInto('facts')
            .values({
              workspace_id: workspace,
              ...fact,
              mentioned_by_agent_ids: [],
              superseded_by: null,
              mention_count: 1,
              tokens,
              place: placeOf(event),
              created_at: at,
              updated_at: at,
            })
            .onConflict((oc) => oc.doNothing())
            .returning(['workspace_id', 'place', 'tokens', 'domain', 'valid_until']),
        )
        .with(
          'words',
          () => sql`(
            insert into fact_terms (workspace_id, term, place, tf, tokens, domain, valid_until)
            select a.workspace_id, t.term, a.place, t.tf, a.tokens, a.domain, a.valid_until
              from added a, unnest(${[...counts.keys()]}::text[], ${[...counts.values()]}::int[]) as t (term, tf)
            returning workspace_id, term)`,
        )
        .with(
          'counted',
          () => sql`(
            insert into term_totals as t (workspace_id, term, facts) select workspace_id, term, 1 from words
            on conflict (workspace_id, term) do update set facts = t.facts + 1)`,
        )
        .insertInto('fact_totals')
        .columns(['workspace_id', 'facts', 'tokens'])
        .expression((eb) => eb.selectFrom('added').select(['workspace_id', sql`1`.as('facts'), 'tokens']))
        .onConflict((oc) =>
          oc.column('workspace_id').doUpdateSet((eb) => ({
            facts: eb('fact_totals.facts', '+', eb.ref('excluded.facts')),
            tokens: eb('fact_totals.tokens', '+', eb.ref('excluded.tokens')),
          })),
        )
        .execute();
    },
    MemoryFactReasserted: ({ workspace, at, data: { fact_id, confidence, mention_count, agent_id } }, tx) =>
      tx
        .updateTable('facts')
        .where('workspace_id', '=', workspace)
        .where('id', '=', fact_id)
        .set({
          confidence,
          mention_count,
          updated_at: at,
          mentioned_by_agent_ids: sql`case when ${agent_id} = any(mentioned_by_agent_ids) then mentioned_by_agent_ids
            else array_append(mentioned_by_agent_ids, ${agent_id}) end`,
        })
        .execute(),
    MemoryFactSuperseded: ({ workspace, at, data: { fact_id, superseded_by } }, tx) =>
      tx
        .with('gone', (db) =>
          db
            .updateTable('facts')
            .where('workspace_id', '=', workspace)
            .where('id', '=', fact_id)
            .where('superseded_by', 'is', null)
            .set({ superseded_by, updated_at: at })
            .returning(['workspace_id', 'place', 'tokens']),
        )
        .with(
          'words',
          () => sql`(
            delete from fact_terms t using gone where t.workspace_id = gone.workspace_id and t.place = gone.place
            returning t.workspace_id, t.term)`,
        )
        .with(
          'counted',
          () => sql`(
            update term_totals t set facts = t.facts - 1 from words
             where t.workspace_id = words.workspace_id and t.term = words.term)`,
        )
        .updateTable('fact_totals as t')
        .from('gone')
        .whereRef('t.workspace_id', '=', 'gone.workspace_id')
        .set({ facts: sql<number>`t.facts - 1`, tokens: sql<number>`t.tokens - gone.tokens` })
        .execute(),
    MemoryFactsLinked: ({ workspace, data: { source, target, weight } }, tx) =>
      tx
        .insertInto('fact_links')
        .values({ workspace_id: workspace, source, target, weight })
        .onConflict((oc) => oc.columns(['workspace_id', 'source', 'target']).doUpdateSet({ weight }))
        .execute(),
  },
});
