import type { FactEvent } from '@cortex/contracts/memory';
import { defineProjection } from '@cortex/eventstore';
import { sql } from 'kysely';
import { termCounts } from '../search/tokens.js';
import type { MemoryDb } from './tables.js';

/**
 * Every fact of a workspace and, of those that are not superseded, the words by which search finds them. The words are our
 * own tokens and not PostgreSQL's full text: the score is made of exactly these (BM25 over stemmed words and CJK pairs).
 */
export const facts = defineProjection<FactEvent, MemoryDb>({
  name: 'facts_v1',
  subject: 'cortex.evt.memory.*.fact.*',
  tables: ['facts', 'fact_terms', 'fact_links', 'fact_totals'],
  on: {
    MemoryFactRecorded: ({ workspace, at, seq, data: { fact } }, tx) => {
      const counts = termCounts(`${fact.topic} ${fact.content}`);
      const tokens = [...counts.values()].reduce((sum, tf) => sum + tf, 0);
      const { id, domain, valid_until } = fact;
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
              seq,
              created_at: at,
              updated_at: at,
            })
            .onConflict((oc) => oc.columns(['workspace_id', 'id']).doNothing())
            .returning(['workspace_id', 'tokens']),
        )
        .with(
          'words',
          () => sql`
            (insert into fact_terms (workspace_id, term, fact_id, tf, tokens, domain, seq, valid_until)
            select added.workspace_id, t.term, ${id}, t.tf, added.tokens, ${domain}, ${seq}, ${valid_until}::timestamptz
              from added, unnest(${[...counts.keys()]}::text[], ${[...counts.values()]}::int[]) as t (term, tf))`,
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
            .returning(['workspace_id', 'tokens']),
        )
        .with('words', (db) =>
          db.deleteFrom('fact_terms').where('workspace_id', '=', workspace).where('fact_id', '=', fact_id),
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
