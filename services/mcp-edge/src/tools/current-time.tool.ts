import { invalidArgument } from '@cortex/contracts';
import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';

const FIELDS = ['year', 'month', 'day', 'hour', 'minute', 'second', 'weekday'] as const;

/** Formatters are dear to make, and callers ask for a handful of zones; invalid names never get in. */
const formatters = new Map<string, Intl.DateTimeFormat>();
const MAX_FORMATTERS = 700;

function formatterOf(timezone: string): Intl.DateTimeFormat {
  const known = formatters.get(timezone);
  if (known) return known;
  const two = '2-digit';
  const options = { month: two, day: two, hour: two, minute: two, second: two, hourCycle: 'h23' } as const;
  const made = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, year: 'numeric', weekday: 'short', ...options });
  if (formatters.size < MAX_FORMATTERS) formatters.set(timezone, made);
  return made;
}

/** Tells the time. Events: none. Errors: invalid_argument (timezone). */
export const currentTime = defineTool({
  name: 'current_time',
  title: 'Current time',
  description:
    'Tells the date and time now, in a time zone of your choice. Call it whenever today matters: what you learned in ' +
    'training is older than that. Safe to repeat.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  group: 'cortex-core',
  input: z.object({
    timezone: z
      .string()
      .max(64)
      .optional()
      .describe("IANA name such as Asia/Shanghai or UTC; default: the server's own zone"),
  }),
  output: z.object({
    timezone: z.string().describe('The zone of the local fields'),
    local: z.string().describe('YYYY-MM-DD HH:MM:SS'),
    weekday: z.string().describe('Mon to Sun'),
    offset: z.string().describe('Distance from UTC, such as UTC+8, UTC-3:30 or UTC'),
    local_iso: z.string().describe('Local time with its offset, ISO 8601'),
    iso_utc: z.string().describe('UTC, ISO 8601 with milliseconds'),
    unix_ms: z.number().int().describe('Milliseconds since 1970-01-01 UTC'),
    unix_s: z.number().int().describe('Seconds since 1970-01-01 UTC'),
  }),
  handle: ({ timezone }, ctx) => timeIn(timezone ?? serverZone(), new Date(ctx.now())),
});

const serverZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

export function timeIn(timezone: string, now: Date) {
  let parts: Intl.DateTimeFormatPart[];
  try {
    parts = formatterOf(timezone).formatToParts(now);
  } catch {
    const problem = `${JSON.stringify(timezone)} is unknown`;
    throw invalidArgument('timezone', problem, 'use an IANA name such as Asia/Shanghai or UTC');
  }
  const [year, month, day, hour, minute, second, weekday] = FIELDS.map(
    (field) => parts.find(({ type }) => type === field)?.value ?? '',
  );
  const date = `${year?.padStart(4, '0')}-${month}-${day}`;
  const time = `${hour}:${minute}:${second}`;
  const utcOfLocal = Date.parse(`${date}T${time}Z`);
  const minutes = Math.round((utcOfLocal - Math.floor(now.getTime() / 1000) * 1000) / 60_000);
  const [sign, hours, rest] = [minutes < 0 ? '-' : '+', Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const two = (n: number) => String(n).padStart(2, '0');
  return {
    timezone,
    local: `${date} ${time}`,
    weekday: weekday ?? '',
    offset: minutes === 0 ? 'UTC' : `UTC${sign}${hours}${rest === 0 ? '' : `:${two(rest)}`}`,
    local_iso: `${date}T${time}${sign}${two(hours)}:${two(rest)}`,
    iso_utc: now.toISOString(),
    unix_ms: now.getTime(),
    unix_s: Math.floor(now.getTime() / 1000),
  };
}
