import { showControls } from '@cortex/contracts/text';
import type { LogMessage } from './reader.js';

type Fields = Record<string, unknown>;

/** One line that a person reads: time, subject, what happened, outcome, the fields that matter. */
export function lineOf(message: LogMessage): string {
  const time = new Date(message.time).toISOString();
  return `${time}  ${short(message.subject)}  ${oneLine(describe(message))}`;
}

/** The same message for a program. */
export function jsonOf({ stream, subject, seq, time, data }: LogMessage): string {
  const body = parse(data);
  const base = { stream, seq, stored_at: new Date(time).toISOString(), subject };
  return JSON.stringify(body === null ? { ...base, bytes: data.length } : { ...base, message: body });
}

function parse(data: Uint8Array): Fields | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Fields) : null;
  } catch {
    return null;
  }
}

const short = (subject: string): string => oneLine(subject.replace(/^cortex\./, ''));

function describe({ data }: LogMessage): string {
  const body = parse(data);
  if (body === null) return `no JSON, ${data.length} bytes`;
  return Array.isArray(body['events']) ? commit(body, body['events'] as Fields[]) : record(body);
}

function commit(envelope: Fields, events: readonly Fields[]): string {
  const actor = envelope['actor'] as Fields | undefined;
  const what = events.map(({ type, data }) => `${word(type)}${fieldsOf((data ?? {}) as Fields)}`);
  return `${what.join(', ')}  by ${word(actor?.['kind'])} ${word(actor?.['id'])}`;
}

/** Fields of a call record that a person looks for; all of them are in `--json`. */
const OF_A_CALL = ['method', 'error_kind', 'reason', 'gate', 'workspace', 'session_id'];

function record(body: Fields): string {
  const { type, outcome, duration_ms, caller_sub, call_id } = body;
  const shown = Object.fromEntries(OF_A_CALL.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])));
  const took = typeof duration_ms === 'number' ? `${Math.round(duration_ms * 10) / 10} ms` : undefined;
  const who = caller_sub === undefined ? undefined : `by ${word(caller_sub)}`;
  return [type, outcome, took, fieldsOf(shown).trim() || undefined, who, call_id]
    .filter((part) => part !== undefined)
    .map(word)
    .join('  ');
}

const word = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

const LONG = 80;

function fieldsOf(data: Fields): string {
  const parts = Object.entries(data).map(([name, value]) => {
    const text = word(value);
    return `${name}=${text.length > LONG ? `${text.slice(0, LONG)}…` : text}`;
  });
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`;
}

/** Neither a line break nor an escape sequence nor a change of the writing direction comes from an event. */
const oneLine = (text: string): string =>
  showControls(text)
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replace(/[\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
