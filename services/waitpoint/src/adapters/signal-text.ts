import { SIGNAL_STATUSES, type SignalStatus } from '@cortex/contracts/waitpoint';
import { cut } from '../waitpoint/evolve.js';

const MESSAGE_CHARS = 2_000;
const DATA_CHARS = 16_000;
const MEMBER_CHARS = 200;

/** A signal as anybody may send it; nothing in it is taken on trust. Source: agent-server, section 19.1. */
export interface RawSignal {
  status?: unknown;
  message?: unknown;
  member?: unknown;
  data?: unknown;
}

export interface SignalText {
  status: SignalStatus;
  message: string | null;
  member: string | null;
  data: string | null;
}

/** What of a signal is recorded: known status, one line of message, texts cut with a note of how much is missing. */
export const signalText = ({ status, message, member, data }: RawSignal): SignalText => ({
  status: SIGNAL_STATUSES.find((known) => known === status) ?? 'ok',
  message: textOf(message, (text) => cut(text.replace(/\s+/g, ' '), MESSAGE_CHARS)),
  member: textOf(member, (text) => cut(text.replace(/\s+/g, ' '), MEMBER_CHARS)),
  data: data === undefined || data === null ? null : cut(storable(dataText(data)), DATA_CHARS),
});

const dataText = (data: unknown): string => (typeof data === 'string' ? data : JSON.stringify(data));

function textOf(value: unknown, shape: (text: string) => string): string | null {
  const text = typeof value === 'string' ? storable(value).trim() : '';
  return text === '' ? null : shape(text);
}

/** PostgreSQL keeps no NUL, and half a surrogate pair is no character. */
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();
