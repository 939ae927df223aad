import type { GapReporterEvent } from '@cortex/contracts/gap';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { describe, expect, it } from '@jest/globals';
import { gapReporter, type GapReporterCommand, NEW_PER_HOUR } from './gapreporter.decider.js';

const given = specFor(gapReporter);
const minute = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString();
const admit = (fingerprint: string, at: string, caller = 'c1'): GapReporterCommand => ({
  type: 'AdmitGap',
  at,
  fingerprint,
  ticket_id: `gap_${fingerprint}`,
  caller,
});
const admitted = (fingerprint: string, at: string, caller = 'c1'): GapReporterEvent & { at: string } => ({
  type: 'GapAdmitted',
  at,
  data: { fingerprint, ticket_id: `gap_${fingerprint}`, caller },
});
const fresh = ({ type, data }: GapReporterEvent): GapReporterEvent => ({ type, data });
const many = [...Array(NEW_PER_HOUR).keys()].map((n) => admitted(`f${n}`, minute(n)));

describe('a report', () => {
  it('is admitted', () =>
    given()
      .when(admit('f', minute(0)))
      .then(fresh(admitted('f', minute(0)))));
  it('is the same ticket within a day, from whichever of the reporter’s callers', () =>
    given(admitted('f', minute(0)))
      .when(admit('f', minute(24 * 60 - 1), 'c2'))
      .thenNothing());
  it('is a new ticket a day later', () =>
    given(admitted('f', minute(0)))
      .when(admit('f', minute(24 * 60)))
      .then(fresh(admitted('f', minute(0)))));
  it('counts from the first of a day, not from its repeats', () =>
    given(admitted('f', minute(0)), admitted('f', minute(24 * 60)))
      .when(admit('f', minute(47 * 60)))
      .thenNothing());
});

describe('of new reports in an hour', () => {
  it('the twenty-first of a caller is refused', () =>
    given(...many)
      .when(admit('f', minute(59)))
      .thenRejects('resource_exhausted'));
  it('the next is admitted when the first is an hour old', () =>
    given(...many)
      .when(admit('f', minute(60)))
      .then(fresh(admitted('f', minute(60)))));
  it('another caller has twenty of its own', () =>
    given(...many)
      .when(admit('f', minute(59), 'c2'))
      .then(fresh(admitted('f', minute(59), 'c2'))));
  it('what was reported already is no new one', () =>
    given(...many)
      .when(admit('f3', minute(59)))
      .thenNothing());
});

it('remembers a day and no more', () => {
  const state = [admitted('old', minute(0)), admitted('new', minute(24 * 60))].reduce(
    (before, event) =>
      gapReporter.evolve(before, { ...event, actor: { kind: 'user', id: 'per_1' }, workspace: '_', version: 1 }),
    gapReporter.initial,
  );
  expect(state.recent.map(({ fingerprint }) => fingerprint)).toEqual(['new']);
});

it('folds what earlier releases wrote', () => {
  expect(foldHistories(gapReporter, new URL('history/', import.meta.url))).toEqual({
    '0001-first.json': {
      recent: [
        { fingerprint: 'f'.repeat(64), ticket_id: 'gap_1', caller: 'a'.repeat(64), at: '2026-11-30T21:00:01.000Z' },
        { fingerprint: 'e'.repeat(64), ticket_id: 'gap_2', caller: 'a'.repeat(64), at: '2026-11-30T21:00:02.000Z' },
      ],
    },
  });
});
