import { fence, inProse, withoutMarks } from '@cortex/contracts/fence';
import type { Pending, Untold, Waitpoint } from './state.js';

export interface Wake {
  text: string;
  /** The signals that it tells of. */
  signal_nos: number[];
}

/** Characters of all messages together; what does not fit is named by its number. */
const MESSAGE_CHARS = 8_000;

/**
 * What a session is told: the same text for the same state, so that a wake sent again is known by it. What came from outside
 * stands in a fence; label and intent are the session's own words, and still hold no mark.
 */
export function wakeOf(waitpoint: Waitpoint, pending: Pending): Wake {
  const { id, label, intent, untold } = waitpoint;
  const outside = contentOf(untold);
  const lines = [
    '<system-reminder>',
    `Waitpoint "${inProse(label)}" (${id}) ${outcomeOf(waitpoint)}.`,
    '',
    'What you noted to do then:',
    withoutMarks(intent),
    ...(untold.length === 0 ? [] : ['', 'Reported:', ...untold.map(reportOf)]),
    ...(waitpoint.omitted === 0 ? [] : [`- and ${waitpoint.omitted} more, see wait_check`]),
    ...(outside === '' ? [] : ['', fence({ of: 'SIGNAL', nonce: pending.nonce, source: id, text: outside })]),
    '',
    ...mailboxOf(waitpoint),
    ...(pending.warning
      ? [
          'It has woken you as often as it may within an hour: further signals are recorded, and do not wake you for now.',
        ]
      : []),
    `All its signals: wait_check with id ${id}.`,
    '</system-reminder>',
  ];
  return { text: lines.join('\n'), signal_nos: untold.map(({ n }) => n) };
}

function outcomeOf({ status, slots, need, untold, created_at, resolved_at, fires }: Waitpoint): string {
  const reported = Object.keys(slots).length;
  if (status === 'expired') {
    const what = reported === 0 ? (fires > 0 ? 'nothing more' : 'nothing') : `only ${reported} of ${need}`;
    return `expired after ${duration(created_at, resolved_at)}: ${what} reported`;
  }
  const failed = untold.filter((signal) => signal.status === 'fail').length;
  const outcome = failed === 0 ? 'fired' : untold.length === 1 ? 'fired: the job failed' : `fired: ${failed} failed`;
  const until = resolved_at ?? untold.at(-1)?.at ?? null;
  // The slots of a mailbox are empty again.
  const got = status === 'fired' ? reported : new Set(untold.map(slotOf)).size;
  const quorum = need > 1 ? `, ${got} of ${need} reported` : '';
  return `${outcome}${quorum}, after ${duration(created_at, until)}`;
}

const slotOf = ({ member, n }: Untold): string => member ?? `#${n}`;

/** The name of a member is whatever the signal said. */
const nameOf = ({ member, n }: Untold): string =>
  member === null ? `signal ${n}` : `"${inProse(member, 60)}" (signal ${n})`;

const reportOf = (signal: Untold): string => `- ${nameOf(signal)}: ${signal.status} at ${signal.at}`;

function contentOf(untold: readonly Untold[]): string {
  let left = MESSAGE_CHARS;
  const parts: string[] = [];
  for (const { n, message, data } of untold) {
    if (message !== null) {
      left -= message.length;
      parts.push(`signal ${n} message: ${left < 0 ? '[left out, see wait_check]' : message}`);
    }
    if (data !== null) parts.push(`signal ${n} data: ${data}`);
  }
  return parts.join('\n');
}

function mailboxOf({ max_signals, fires, status }: Waitpoint): string[] {
  if (max_signals === 1) return [];
  return [
    `It has fired ${fires} of ${max_signals} times${status === 'armed' ? ' and stays armed' : ', and is closed'}.`,
  ];
}

const UNITS: readonly [ms: number, unit: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** The two largest units; never negative, whatever the clock did. */
function duration(from: string, until: string | null): string {
  let left = until === null ? 0 : Math.max(0, Date.parse(until) - Date.parse(from));
  const parts: string[] = [];
  for (const [ms, unit] of UNITS) {
    const count = Math.floor(left / ms);
    left -= count * ms;
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
  }
  return parts.length === 0 ? 'less than a second' : parts.join(' ');
}
