import type { GapEvent, GapReport, GapStatus } from '@cortex/contracts/gap';
import { GAP_STATUSES } from '@cortex/contracts/gap';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { describe, expect, it } from '@jest/globals';
import { gap, type GapCommand, type GapTriage } from './gap.decider.js';

const given = specFor(gap);
const report: GapReport = {
  whatIWanted: 'export',
  userIntent: 'to file it',
  severity: 'blocking',
  contextTool: null,
  contextApp: null,
  suggestedShape: null,
};
const file = (again = false): GapCommand => ({ type: 'ReportGap', report, reporter: 'per_1', again });
const triage = (change: GapTriage): GapCommand => ({ type: 'TriageGap', triage: change });
const reported: GapEvent = { type: 'GapReported', data: { ...report, reporter: 'per_1' } };
const mild: GapEvent = { type: 'GapReported', data: { ...reported.data, severity: 'inconvenient' } };
const event = (
  type: 'GapTriaged' | 'GapPlanned' | 'GapResolved' | 'GapWontFix' | 'GapReopened' | 'GapNoted',
  data = {},
) => ({ type, data }) as GapEvent;
const duplicate = (of: string | null = null, data = {}): GapEvent => ({
  type: 'GapMarkedDuplicate',
  data: { ...data, duplicate_of: of },
});
/** How a ticket gets into each status. */
const ways: Record<GapStatus, GapEvent[]> = {
  open: [reported],
  triaged: [reported, event('GapTriaged')],
  planned: [reported, event('GapPlanned')],
  resolved: [reported, event('GapResolved', { resolutionNote: 'in 2.1' })],
  wont_fix: [reported, event('GapWontFix')],
  duplicate: [reported, duplicate('gap_2')],
};

describe('a report', () => {
  it('is recorded', () => given().when(file()).then(reported));
  it('is recorded too when it comes again and its first try was lost', () => given().when(file(true)).then(reported));
  it('of the same call is recorded once', () => given(reported).when(file()).thenNothing());
  it('that is made again is noted', () => given(reported).when(file(true)).then({ type: 'GapDeduplicated', data: {} }));
});

describe('the platform team', () => {
  const begin: GapCommand = { type: 'BeginNotice', attempt: 'a1' };
  const begun: GapEvent = { type: 'GapNoticeBegun', data: { attempt: 'a1' } };
  const end: GapCommand = { type: 'EndNotice', delivered: true, problem: null };
  const ended: GapEvent = { type: 'GapNoticeEnded', data: { delivered: true, problem: null } };
  const theirs = { ...report, reporter: 'per_1', backend: 'demo', backend_ticket_id: 'D-7' };
  const taken: GapEvent = { type: 'GapTakenByBackend', data: theirs };
  it('is told of a blocking ticket', () => given(reported).when(begin).then(begun));
  it('is told once, however it ended', () => {
    given(reported, begun).when(begin).thenNothing();
    given(reported, begun, ended).when(begin).thenNothing();
  });
  it('is told of no other ticket', () => given(mild).when(begin).thenNothing());
  it('is told of one that a backend keeps', () => given(taken).when(begin).then(begun));
  it('was told when that was begun and ended', () => {
    given(reported, begun).when(end).then(ended);
    given(reported).when(end).thenNothing();
    given(reported, begun, ended).when(end).thenNothing();
  });
  it('hears of a backend’s ticket once', () => {
    const note: GapCommand = {
      type: 'NoteBackendGap',
      report,
      reporter: 'per_1',
      backend: 'demo',
      backend_ticket_id: 'D-7',
    };
    given().when(note).then(taken);
    given(taken).when(note).thenNothing();
  });
  it('does not triage what a backend keeps', () =>
    given(taken)
      .when(triage({ status: 'triaged' }))
      .thenRejects('not_found', 'ticketId'));
});

describe('triage', () => {
  const allowed: Record<GapStatus, readonly GapStatus[]> = {
    open: ['triaged', 'planned', 'resolved', 'wont_fix', 'duplicate'],
    triaged: ['planned', 'resolved', 'wont_fix', 'duplicate'],
    planned: ['resolved', 'wont_fix', 'duplicate'],
    resolved: ['triaged'],
    wont_fix: ['triaged'],
    duplicate: ['triaged'],
  };
  const arrivals: Record<Exclude<GapStatus, 'open'>, GapEvent> = {
    triaged: event('GapTriaged'),
    planned: event('GapPlanned'),
    resolved: event('GapResolved'),
    wont_fix: event('GapWontFix'),
    duplicate: duplicate(),
  };
  const pairs = GAP_STATUSES.flatMap((from) =>
    GAP_STATUSES.filter((to) => to !== from).map((to) => [from, to] as const),
  );
  it.each(pairs)('from %s to %s is as the table of moves says', (from, to) => {
    const tried = given(...ways[from]).when(triage({ status: to }));
    if (!allowed[from].includes(to)) return tried.thenRejects('failed_precondition', 'status');
    const again = ['resolved', 'wont_fix', 'duplicate'].includes(from);
    return tried.then(again ? event('GapReopened') : arrivals[to as Exclude<GapStatus, 'open'>]);
  });

  it('into the status that it has records nothing', () =>
    GAP_STATUSES.forEach((status) =>
      given(...ways[status])
        .when(triage({ status }))
        .thenNothing(),
    ));
  it('of an unknown ticket is refused', () =>
    given()
      .when(triage({ status: 'planned' }))
      .thenRejects('not_found', 'ticketId'));
  it('keeps what is noted with the move, and only what is new of it', () =>
    given(reported, event('GapNoted', { triageNote: 'same' }))
      .when(triage({ status: 'planned', triageNote: 'same', resolvedPrUrl: 'https://a.example/1' }))
      .then(event('GapPlanned', { resolvedPrUrl: 'https://a.example/1' })));
  it('with notes alone leaves the status, and the same note again is nothing new', () => {
    given(reported)
      .when(triage({ triageNote: 'hm' }))
      .then(event('GapNoted', { triageNote: 'hm' }));
    given(reported, event('GapNoted', { triageNote: 'hm' }))
      .when(triage({ triageNote: 'hm' }))
      .thenNothing();
  });
  it('knows a note again whose secret the log does not hold', () =>
    given(reported, event('GapNoted', { triageNote: 'use password=[redacted:secret]' }))
      .when(triage({ triageNote: 'use password=hunter2hunter2' }))
      .thenNothing());
  it('takes a note away', () =>
    given(reported, event('GapNoted', { triageNote: 'hm' }))
      .when(triage({ triageNote: null }))
      .then(event('GapNoted', { triageNote: null })));
  it('names the original of a duplicate, and another one later', () => {
    given(reported)
      .when(triage({ duplicateOf: 'gap_2' }))
      .then(duplicate('gap_2'));
    given(...ways.duplicate)
      .when(triage({ duplicateOf: 'gap_3' }))
      .then(duplicate('gap_3'));
    given(...ways.duplicate)
      .when(triage({ status: 'duplicate', duplicateOf: 'gap_2' }))
      .thenNothing();
  });
  it('forgets the end of what is opened again: the same end is new then', () =>
    given(...ways.resolved, event('GapReopened'))
      .when(triage({ status: 'resolved', resolutionNote: 'in 2.1' }))
      .then(event('GapResolved', { resolutionNote: 'in 2.1' })));
  it('refuses an original beside another status', () =>
    given(reported)
      .when(triage({ status: 'planned', duplicateOf: 'gap_2' }))
      .thenRejects('invalid_argument', 'duplicateOf'));
  it('refuses to change nothing', () => given(reported).when(triage({})).thenRejects('invalid_argument', 'body'));
});

it('folds what earlier releases wrote', () => {
  expect(foldHistories(gap, new URL('history/', import.meta.url))).toEqual({
    '0001-first.json': {
      status: 'triaged',
      severity: 'blocking',
      notice: 'delivered',
      notes: { triageNote: 'seen', resolutionNote: null, resolvedPrUrl: null },
      duplicate_of: null,
    },
    '0002-of-a-backend.json': { status: 'elsewhere', severity: 'blocking', notice: 'failed' },
  });
});
