import { defineProof } from '@cortex/eventstore';
import { sql } from 'kysely';
import { blocksOf, GENESIS } from '../chain/links.js';
import type { AuditDb } from './tables.js';

/**
 * The hash of every call record, chained to the one before it. The service's own role cannot write it. That the records are still those
 * that were hashed is found out by `cortex audit verify`.
 */
export const callChain = defineProof<AuditDb>({
  name: 'call_chain_v1',
  subject: 'cortex.call.>',
  tables: ['call_chain'],
  async proof(messages, tx) {
    const last = await tx
      .selectFrom('call_chain')
      .select(sql<Buffer>`substring(hashes from octet_length(hashes) - 31)`.as('link'))
      .orderBy('last_seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    await tx
      .insertInto('call_chain')
      .values(blocksOf(last?.link ?? GENESIS, messages))
      .execute();
  },
});
