import { randomBytes } from 'node:crypto';

/** A place in a stream of a session: the id of one event. The `n` of a stream's beginning is 0. */
export interface Position {
  readonly stream: string;
  readonly n: number;
}

/** What a stream carries: the answer to one POST, or the notifications that a GET waits for. */
export type Carries = 'answer' | 'notices';

/** Ids of streams say what they carry, so that one that nobody knows any more can still be told apart. */
const LETTER: Readonly<Record<Carries, string>> = { answer: 'a', notices: 'n' };
const EVENT_ID = /^([an][0-9a-f]{16})-(0|[1-9][0-9]{0,8})$/;

/** An id that no other stream has. */
export const newStreamId = (carries: Carries): string => LETTER[carries] + randomBytes(8).toString('hex');

/** Whether this is a place in a stream that carries an answer. */
export const carriesAnswer = ({ stream }: Position): boolean => stream.startsWith(LETTER.answer);

/** The place as it stands in `id:` and in `Last-Event-ID`. */
export const eventId = ({ stream, n }: Position): string => `${stream}-${n}`;

/** Undefined for what is no id that was ever given. */
export function readEventId(id: string | undefined): Position | undefined {
  const [, stream, n] = EVENT_ID.exec(id?.trim() ?? '') ?? [];
  return stream === undefined ? undefined : { stream, n: Number(n) };
}
