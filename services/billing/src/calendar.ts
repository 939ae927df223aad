/** A calendar day or month of a zone; what lies in it is at or after `from` and before `to`. */
export interface Period {
  /** `2026-03-01` or `2026-03`. */
  starts: string;
  from: Date;
  to: Date;
}

/** The fields of a clock in the zone; month from 1. */
interface Fields {
  year: number;
  month: number;
  day: number;
  ms: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(zone, format);
  }
  return format;
}

function fieldsOf(at: Date, zone: string): Fields {
  const parts = formatOf(zone).formatToParts(at);
  const field = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((part) => part.type === type)?.value);
  const ms = ((field('hour') * 60 + field('minute')) * 60 + field('second')) * 1000;
  return { year: field('year'), month: field('month'), day: field('day'), ms };
}

const DAY_MS = 86_400_000;

/** Milliseconds by which the zone's clocks are ahead of UTC, in whole seconds. */
function offset(at: number, zone: string): number {
  const { year, month, day, ms } = fieldsOf(new Date(at), zone);
  return Date.UTC(year, month - 1, day) + ms - Math.floor(at / 1000) * 1000;
}

/**
 * The first moment of a date. Clocks may change at midnight: where it comes twice the first one counts, and a day whose
 * midnight is skipped begins when the clocks change. `month` from 1; both may be one too many.
 */
function startOf(year: number, month: number, day: number, zone: string): Date {
  const midnight = Date.UTC(year, month - 1, day);
  const [before, after] = [offset(midnight - DAY_MS, zone), offset(midnight + DAY_MS, zone)];
  const fits = [midnight - before, midnight - after].find((at) => at + offset(at, zone) === midnight);
  return new Date(fits ?? midnight - before);
}

const two = (n: number): string => String(n).padStart(2, '0');

/** The calendar day of a moment. */
export function dayOf(at: Date, zone: string): Period {
  const { year, month, day } = fieldsOf(at, zone);
  return {
    starts: `${year}-${two(month)}-${two(day)}`,
    from: startOf(year, month, day, zone),
    to: startOf(year, month, day + 1, zone),
  };
}

/** The calendar month of a moment. */
export function monthOf(at: Date, zone: string): Period {
  const { year, month } = fieldsOf(at, zone);
  return {
    starts: `${year}-${two(month)}`,
    from: startOf(year, month, 1, zone),
    to: startOf(year, month + 1, 1, zone),
  };
}
