import { tenantDb } from '@cortex/eventstore';
import { postgresFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { memoryService } from '../memory.module.js';
import type { MemoryDb } from '../projections/tables.js';
import { lexicalQuery } from './candidates.js';

const FACTS = 10_000;

it('looks words up in an index and reads no whole table, however many facts there are', async () => {
  await using postgres = await postgresFixture([memoryService]);
  const owner = await postgres.pool().connect();
  await owner.query('set search_path = memory');
  // Of ten words each; word 0 stands in every fact, and every other one in about a hundred.
  await owner.query(`
    insert into facts select 'w' || i % 2, 'f' || i, 'd', 't', 'c', 'fact', 'stated', 1, 'a1', null, '{}', '{}', null, null, 1, 10,
      i * 10000, now(), now() from generate_series(1, ${FACTS}) i;
    insert into fact_terms select 'w' || i % 2, 'word' || (case j when 0 then 0 else (i * 31 + j * 97) % 997 end), i * 10000, 1, 10, 'd', null
      from generate_series(1, ${FACTS}) i, generate_series(0, 9) j on conflict do nothing;
    insert into term_totals select workspace_id, term, count(*) from fact_terms group by 1, 2;
    insert into fact_totals select workspace_id, count(*), sum(tokens) from facts group by 1`);
  for (const table of ['facts', 'fact_terms', 'term_totals', 'fact_totals'])
    await owner.query(`vacuum analyze ${table}`);
  owner.release();

  const db: Kysely<MemoryDb> = tenantDb<MemoryDb>(postgres.pool('memory'), 'w1');
  const query = lexicalQuery(['word5', 'word100', 'word900'], { now: new Date().toISOString(), domains: null }, 30);
  const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${query}`.execute(db);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('Index Only Scan using fact_terms_pk on fact_terms t');
  expect(plan).toContain('Index Scan using facts_place on facts f');
  expect(plan).not.toMatch(/Seq Scan on (?:facts|fact_terms|term_totals)/);
  expect((await query.execute(db)).rows).toHaveLength(30);
});
