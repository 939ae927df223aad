import {
  COMMIT_HEADER,
  CommitEnvelope,
  NO_WORKSPACE,
  parseEventSubject,
  type CommitEnvelope as Envelope,
} from '@cortex/contracts';
import type { MsgHdrs } from '@nats-io/transport-node';
import type { EventVersions } from './decider.js';
import type { Recorded } from './projection.js';

/** A message of the log as a pull or a direct get brings it. */
export interface LogMessage {
  subject: string;
  seq: number;
  headers?: MsgHdrs;
  data: Uint8Array;
  /** It was not published to its subject, see `StoredMessage`. */
  copied?: boolean;
}

/** One event with everything that its reader gets. */
export type AnyEvent = { type: string; data: unknown } & Recorded;

/** `garbage` says why a message is no commit of its subject: readers skip, count and report it, and go on. */
export type Read = { commit: Envelope } | { garbage: string };

const COPIED = 'it is the answer to a read of another message';

/** A reply subject can put any bytes on any subject of the stream (T81), so nothing about a message is taken on trust. */
export function readCommit(message: LogMessage): Read {
  if (message.copied) return { garbage: COPIED };
  const subject = parseEventSubject(message.subject);
  if (!subject) return { garbage: 'its subject is none of a commit' };
  const id = message.headers?.get(COMMIT_HEADER);
  if (!id) return { garbage: `it has no header ${COMMIT_HEADER}` };
  const envelope = CommitEnvelope.safeParse(parseJson(message.data));
  if (!envelope.success) return { garbage: 'its body is no commit' };
  const commit = envelope.data;
  if (commit.commit_id !== id) return { garbage: `its body is another commit than its header says` };
  if (commit.workspace !== subject.workspace) return { garbage: 'its workspace is not that of its subject' };
  return { commit };
}

/** The events of a message for projections and reactors; those of a call record are one, the record itself. */
export function readEvents(message: LogMessage): { events: AnyEvent[] } | { garbage: string } {
  if (message.subject.startsWith('cortex.call.')) return readRecord(message);
  const read = readCommit(message);
  if ('garbage' in read) return read;
  const { events, ...envelope } = read.commit;
  const id = message.subject.slice(message.subject.lastIndexOf('.') + 1);
  const common = { ...envelope, seq: message.seq, subject: message.subject, id };
  return { events: events.map(({ type, version, data }, index) => ({ ...common, type, version, data, index })) };
}

function readRecord(message: LogMessage): { events: AnyEvent[] } | { garbage: string } {
  if (message.copied) return { garbage: COPIED };
  const record = parseJson(message.data) as { type?: unknown; at?: unknown; call_id?: unknown } | undefined;
  const { type, at, call_id } = record ?? {};
  if (typeof type !== 'string' || typeof at !== 'string' || typeof call_id !== 'string') {
    return { garbage: 'its body is no call record' };
  }
  const { workspace, session_id, caller_sub } = record as {
    workspace?: string;
    session_id?: string;
    caller_sub?: string;
  };
  const event: AnyEvent = {
    type,
    data: record,
    at,
    actor: { kind: 'user', id: caller_sub ?? '' },
    workspace: workspace ?? NO_WORKSPACE,
    version: 1,
    seq: message.seq,
    commit_id: call_id,
    subject: message.subject,
    id: message.subject.slice(message.subject.lastIndexOf('.') + 1),
    index: 0,
    ...(session_id !== undefined && { session_id }),
  };
  return { events: [event] };
}

function parseJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
  } catch {
    return undefined;
  }
}

/**
 * An event in its newest version, through the upcasters between; null when it was written by a newer release, whose
 * shape this one cannot know.
 */
export function newest<E extends { type: string; version: number; data: unknown }>(
  event: E,
  { version = {}, upcast = {} }: EventVersions,
): E | null {
  const target = version[event.type] ?? 1;
  if (event.version > target) return null;
  let { data } = event;
  for (let old = event.version; old < target; old++) data = upcast[event.type]?.[old]?.(data as never);
  return event.version === target ? event : { ...event, version: target, data };
}
