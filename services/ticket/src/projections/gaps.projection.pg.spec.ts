import type { GapEvent } from '@cortex/contracts/gap';
import { projectionFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { gaps } from './gaps.projection.js';
import { migrations } from './tables.js';

const reported: GapEvent = {
  type: 'GapReported',
  data: {
    whatIWanted: 'export \\u0000 "it"',
    userIntent: 'to file it',
    severity: 'blocking',
    contextTool: 'demo_get',
    contextApp: 'demo',
    suggestedShape: null,
    reporter: 'per_1',
  },
};
const time = (minute: number) => `2026-01-05T10:0${minute}:00.000Z`;
const at = (minute: number, event: GapEvent) => ({ ...event, at: time(minute) });

it('keeps one row per ticket, whatever is delivered twice', async () => {
  await using t = await projectionFixture(gaps, migrations);
  await t.apply(1, at(0, reported));
  await t.apply(1, at(0, reported));
  await t.apply(2, at(1, { type: 'GapDeduplicated', data: {} }));
  const rows = await t.db.selectFrom('missing_capabilities').selectAll().execute();
  expect(rows).toMatchObject([
    {
      status: 'open',
      what_i_wanted: 'export \\u0000 "it"',
      reporter: 'per_1',
      created_at: time(0),
      updated_at: time(1),
      resolved_at: null,
    },
  ]);
});

it('follows a ticket to its end and back', async () => {
  await using t = await projectionFixture(gaps, migrations);
  const row = () =>
    t.db
      .selectFrom('missing_capabilities')
      .select([
        'status',
        'triage_note',
        'resolution_note',
        'resolved_pr_url',
        'duplicate_of',
        'resolved_at',
        'updated_at',
      ])
      .executeTakeFirst();
  await t.apply(1, at(0, reported));
  await t.apply(2, at(1, { type: 'GapTriaged', data: { triageNote: 'seen' } }));
  await t.apply(3, at(2, { type: 'GapResolved', data: { resolvedPrUrl: 'https://a.example/1' } }));
  await t.apply(4, at(3, { type: 'GapNoted', data: { resolutionNote: 'in 2.1' } }));
  expect(await row()).toEqual({
    status: 'resolved',
    triage_note: 'seen',
    resolution_note: 'in 2.1',
    resolved_pr_url: 'https://a.example/1',
    duplicate_of: null,
    resolved_at: time(2),
    updated_at: time(3),
  });
  const opened = { status: 'triaged', triage_note: 'seen', resolution_note: null, resolved_pr_url: null };
  await t.apply(5, at(4, { type: 'GapReopened', data: {} }));
  expect(await row()).toMatchObject({ ...opened, resolved_at: null });
  await t.apply(6, at(5, { type: 'GapMarkedDuplicate', data: { duplicate_of: 'gap_2' } }));
  expect(await row()).toMatchObject({ status: 'duplicate', duplicate_of: 'gap_2' });
  await t.apply(7, at(6, { type: 'GapReopened', data: { triageNote: null } }));
  expect(await row()).toMatchObject({ ...opened, triage_note: null, duplicate_of: null });
});

it('lists nothing of what backends keep, nor of a ticket that it does not know', async () => {
  await using t = await projectionFixture(gaps, migrations);
  const theirs = { ...reported.data, backend: 'demo', backend_ticket_id: 'D-7' } as never;
  await t.apply(1, { type: 'GapTakenByBackend', data: theirs }, { type: 'GapNoticeBegun', data: { attempt: 'a' } });
  await t.apply(2, { type: 'GapPlanned', data: {} });
  expect(await t.db.selectFrom('missing_capabilities').selectAll().execute()).toEqual([]);
});
