import { isCortexError } from '@cortex/contracts';
import { eventually, ownPostgres, startService } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import type { GapJson } from './gap/gap-rows.js';
import { TicketModule, ticketService } from './ticket.module.js';

it('what is missing is reported while PostgreSQL is away, once, and listed when it is back', async () => {
  await using postgres = await ownPostgres([ticketService]);
  await using app = await startService(TicketModule, { postgres });
  const nowhere = { workspace: null, from: 'mcp-edge' as const };
  const report = (whatIWanted: string) => {
    const nothing = { contextTool: null, contextApp: null, suggestedShape: null };
    const args = { whatIWanted, userIntent: 'x', severity: 'inconvenient', ...nothing, caller: 'a'.repeat(64) };
    return app.ask<{ ticketId: string; deduplicated: boolean }>('cmd', 'report_gap', args, nowhere);
  };
  const list = () => app.ask<{ tickets: GapJson[] }>('query', 'list_gaps', { mine: true }, nowhere);
  const before = await report('before');

  await postgres.kill();
  expect((await report('during')).deduplicated).toBe(false);
  expect(await report('before')).toMatchObject({ ticketId: before.ticketId, deduplicated: true });
  const error = await list().catch((failure: unknown) => failure);
  if (!isCortexError(error)) throw new Error('the list was given');
  expect(error.kind).toBe('unavailable');
  expect(error.message).not.toMatch(/ECONN|select|127\.0\.0\.1/);

  await postgres.start();
  await eventually(async () => {
    const { tickets } = await list();
    expect(tickets.map(({ whatIWanted }) => whatIWanted)).toEqual(['during', 'before']);
  }, 60_000);
});
