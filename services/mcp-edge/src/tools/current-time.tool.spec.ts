import { describe, expect, it } from '@jest/globals';
import { timeIn } from './current-time.tool.js';

const at = (iso: string) => new Date(iso);

describe('current_time', () => {
  it('tells UTC', () =>
    expect(timeIn('UTC', at('2026-03-01T09:00:00.000Z'))).toEqual({
      timezone: 'UTC',
      local: '2026-03-01 09:00:00',
      weekday: 'Sun',
      offset: 'UTC',
      local_iso: '2026-03-01T09:00:00+00:00',
      iso_utc: '2026-03-01T09:00:00.000Z',
      unix_ms: 1772355600000,
      unix_s: 1772355600,
    }));

  it.each([
    ['Asia/Shanghai', '2026-03-01T16:00:00.999Z', '2026-03-02 00:00:00', 'Mon', 'UTC+8', '+08:00'],
    ['America/St_Johns', '2026-01-15T12:00:00Z', '2026-01-15 08:30:00', 'Thu', 'UTC-3:30', '-03:30'],
    ['Asia/Kathmandu', '2026-01-15T12:00:00Z', '2026-01-15 17:45:00', 'Thu', 'UTC+5:45', '+05:45'],
    ['America/New_York', '2026-07-01T12:00:00Z', '2026-07-01 08:00:00', 'Wed', 'UTC-4', '-04:00'],
    ['Pacific/Kiritimati', '2025-12-31T10:00:00Z', '2026-01-01 00:00:00', 'Thu', 'UTC+14', '+14:00'],
  ])('knows %s, midnight being 00', (timezone, now, local, weekday, offset, zone) =>
    expect(timeIn(timezone, at(now))).toMatchObject({
      local,
      weekday,
      offset,
      local_iso: `${local.replace(' ', 'T')}${zone}`,
    }),
  );

  it.each(['Mars/Olympus', '', 'UTC; DROP'])('refuses the zone %j', (timezone) =>
    expect(() => timeIn(timezone, new Date())).toThrow(
      `timezone ${JSON.stringify(timezone)} is unknown; use an IANA name such as Asia/Shanghai or UTC`,
    ),
  );
});
