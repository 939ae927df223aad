import { describe, expect, it } from '@jest/globals';
import { dayOf, monthOf } from './calendar.js';

const day = (at: string, zone: string) => {
  const { starts, from, to } = dayOf(new Date(at), zone);
  return [starts, from.toISOString(), to.toISOString()];
};
const month = (at: string, zone: string) => {
  const { starts, from, to } = monthOf(new Date(at), zone);
  return [starts, from.toISOString(), to.toISOString()];
};

describe('a calendar day', () => {
  it('is that of the zone, not of UTC', () => {
    const at = '2026-01-05T23:30:00.000Z';
    expect(day(at, 'UTC')).toEqual(['2026-01-05', '2026-01-05T00:00:00.000Z', '2026-01-06T00:00:00.000Z']);
    expect(day(at, 'Asia/Shanghai')).toEqual(['2026-01-06', '2026-01-05T16:00:00.000Z', '2026-01-06T16:00:00.000Z']);
    expect(day(at, 'America/New_York')[0]).toBe('2026-01-05');
    expect(day(at, 'Asia/Kathmandu')[1]).toBe('2026-01-05T18:15:00.000Z');
  });

  it('has 23 hours when the clocks go forward and 25 when they go back', () => {
    expect(day('2026-03-29T12:00:00.000Z', 'Europe/Berlin')).toEqual([
      '2026-03-29',
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ]);
    expect(day('2026-10-25T12:00:00.000Z', 'Europe/Berlin')).toEqual([
      '2026-10-25',
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ]);
  });

  it('begins when the clocks change where its midnight is skipped', () => {
    // From 00:00 to 01:00 on 2018-11-04.
    expect(day('2018-11-04T12:00:00.000Z', 'America/Sao_Paulo')).toEqual([
      '2018-11-04',
      '2018-11-04T03:00:00.000Z',
      '2018-11-05T02:00:00.000Z',
    ]);
  });

  it('begins at the first of two midnights', () => {
    // From 01:00 back to 00:00 on 2026-11-01.
    expect(day('2026-11-01T12:00:00.000Z', 'America/Havana').slice(0, 2)).toEqual([
      '2026-11-01',
      '2026-11-01T04:00:00.000Z',
    ]);
  });

  it.each(['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia'])(
    'holds every moment in exactly one day, in %s',
    (zone) => {
      for (let at = Date.UTC(2018, 0, 1); at < Date.UTC(2019, 0, 1); at += 37 * 3_600_000 + 61_000) {
        const { from, to, starts } = dayOf(new Date(at), zone);
        expect(from.getTime() <= at && at < to.getTime()).toBe(true);
        expect(dayOf(from, zone).starts).toBe(starts);
        expect(dayOf(new Date(from.getTime() - 1), zone).starts < starts).toBe(true);
        expect(dayOf(to, zone).from).toEqual(to);
      }
    },
  );
});

describe('a calendar month', () => {
  it('ends with its last day in the zone', () => {
    expect(month('2026-02-28T23:30:00.000Z', 'Europe/Berlin')).toEqual([
      '2026-03',
      '2026-02-28T23:00:00.000Z',
      '2026-03-31T22:00:00.000Z',
    ]);
    expect(month('2026-12-31T23:59:59.999Z', 'UTC')).toEqual([
      '2026-12',
      '2026-12-01T00:00:00.000Z',
      '2027-01-01T00:00:00.000Z',
    ]);
  });
});
