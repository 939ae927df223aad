import { CALLS_STREAM } from '@cortex/contracts';
import { eventually, natsFixture, ownPostgres, startService } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import pg from 'pg';
import { AuditModule, auditService } from '../audit.module.js';

it('records that are given out again while the database is away are hashed once, when it is back', async () => {
  await using nats = await natsFixture({ services: [auditService], ackWaitMs: 1_000 });
  await using postgres = await ownPostgres([auditService]);
  await using app = await startService({ module: AuditModule, def: auditService }, { nats, postgres });
  const edge = await nats.busAs('mcp-edge');
  const write = async (n: number): Promise<void> => {
    const record = { type: 'RequestRecorded', call_id: `r${n}`, at: '2026-01-05T10:00:00.000Z' };
    await edge.publishAcked('cortex.call.mcp-edge._request', JSON.stringify(record));
  };
  const hashed = async (): Promise<number[]> => {
    const client = new pg.Client({ connectionString: postgres.adminUrl });
    await client.connect();
    const { rows } = await client.query<{ first_seq: string; last_seq: string }>(
      'select first_seq, last_seq from audit.call_chain order by first_seq',
    );
    await client.end();
    return rows.flatMap(({ first_seq, last_seq }) => [Number(first_seq), Number(last_seq)]);
  };
  const admin = await nats.busAs('provision');
  const givenAgain = async (): Promise<number> => {
    const subject = `$JS.API.CONSUMER.INFO.${CALLS_STREAM}.call_chain_v1`;
    return (await admin.request(subject, '', { timeoutMs: 5_000 })).json<{ num_redelivered: number }>().num_redelivered;
  };
  await write(1);
  await eventually(async () => expect(await hashed()).toEqual([1, 1]));
  await postgres.kill();
  await write(2);
  await eventually(() => app.log.some((line) => line.includes('a projection waits') && line.includes('call_chain_v1')));
  // Comes while the batch with the one before it waits, and then once more beside it.
  await write(3);
  await eventually(async () => (await givenAgain()) >= 2);
  await postgres.start();
  await eventually(async () => expect(await hashed()).toEqual([1, 1, 2, 2, 3, 3]));
  expect(app.log.filter((line) => line.includes('duplicate key'))).toEqual([]);
});
