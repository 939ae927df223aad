import { setTimeout as sleep } from 'node:timers/promises';
import {
  conflict,
  internal,
  invalidArgument,
  isCortexError,
  notFound,
  unavailable,
  type CortexError,
} from '@cortex/contracts';
import { headers as newHeaders, type Msg, type MsgHdrs } from '@nats-io/transport-node';
import type { AckedOptions, DirectReader, PublishAck, StoredMessage } from './bus.js';
import { isCutOff, outcomeUnknown, type CallMux } from './mux.js';

const TRY_MS = 1000;
const READ_MS = 5000;
const PAUSE_MS = 50;

interface ApiError {
  code: number;
  err_code?: number;
  description?: string;
}

/** One publish with one acknowledgement, or several tries of it under one message id. */
export async function publishAcked(
  mux: CallMux,
  subject: string,
  data: string | Uint8Array,
  options: AckedOptions = {},
): Promise<PublishAck> {
  const { msgId, signal, timeoutMs = 5000 } = options;
  const headers = headersOf(options);
  const deadline = performance.now() + timeoutMs;
  let sent = false;
  for (;;) {
    const left = deadline - performance.now();
    try {
      // Without an id a second try could be stored twice, so there is one, and it has all the time.
      const tryMs = msgId === undefined ? left : Math.min(TRY_MS, left);
      return readAck(await mux.request(subject, data, { timeoutMs: tryMs, headers, signal, ofLog: true }), subject);
    } catch (error) {
      if (!isCortexError(error) || !isLost(error)) throw error;
      sent ||= error.details?.['outcome'] === 'unknown';
      const over = msgId === undefined || deadline - performance.now() <= PAUSE_MS;
      // While the bus is away a call fails at once; one that may have been stored already is worth waiting for.
      if (over || (!sent && !mux.takes)) throw sent ? outcomeUnknown(subject) : error;
      await sleep(PAUSE_MS);
    }
  }
}

/** No answer that could be read: not sent, nobody there (a server that starts), connection lost, or late. */
const isLost = (error: CortexError): boolean => error.details?.['outcome'] !== undefined;

function headersOf(options: AckedOptions): MsgHdrs | undefined {
  const { msgId, expectLastSubjectSeq, headers } = options;
  if (msgId === undefined && expectLastSubjectSeq === undefined && !headers) return undefined;
  const all = newHeaders();
  for (const [name, value] of Object.entries(headers ?? {})) all.set(name, value);
  if (msgId !== undefined) all.set('Nats-Msg-Id', msgId);
  if (expectLastSubjectSeq !== undefined) all.set('Nats-Expected-Last-Subject-Sequence', String(expectLastSubjectSeq));
  return all;
}

function readAck(message: Msg, subject: string): PublishAck {
  let ack: { stream?: string; seq?: number; duplicate?: boolean; error?: ApiError };
  try {
    ack = message.json();
  } catch (cause) {
    throw internal('bus', `got an acknowledgement of ${subject} that is no JSON`, 'see who answers it', { cause });
  }
  if (ack.error) throw fromApi(ack.error, subject);
  if (typeof ack.stream !== 'string' || typeof ack.seq !== 'number') {
    throw internal('bus', `got an answer to ${subject} that is no acknowledgement`, 'see who answers it');
  }
  return { stream: ack.stream, seq: ack.seq, duplicate: ack.duplicate === true };
}

/** JetStream's error codes in our words; the code itself stands in `details`. */
function fromApi(error: ApiError, subject: string): CortexError {
  const code = error.err_code ?? error.code;
  const text = error.description ?? 'unknown';
  const details = { code };
  switch (code) {
    case 10071: {
      const current = Number(/(\d+)\s*$/.exec(text)?.[1] ?? Number.NaN);
      const extras = {
        reason: 'revision_conflict',
        details: Number.isNaN(current) ? details : { ...details, current },
      } as const;
      return conflict('revision', 'is not the last one any more', 'read it and decide again', extras);
    }
    case 10054: // larger than the stream's own limit
      return invalidArgument('message', 'is larger than its stream takes', 'send large bodies by reference', {
        reason: 'too_large',
        details,
      });
    case 10037: // no message found
      return notFound('message', 'is not in the stream', '', { details });
    case 10023: // insufficient resources
    case 10047: // insufficient storage
    case 10077: // maximum messages, bytes or messages per subject exceeded
      return unavailable('log', `takes no more records (${text}), nothing was changed`, 'give the stream room', {
        details,
      });
    default:
      return error.code === 503
        ? unavailable('log', `does not take ${subject} now (${text})`, 'try again in a moment', { details })
        : internal('log', `refused ${subject} (${text})`, 'see the code', { details });
  }
}

/** Reads of stored messages without a consumer. */
export function directReader(mux: CallMux): DirectReader {
  const ask = (subject: string, body: string): Promise<Msg> => {
    const send = () => mux.request(subject, body, { timeoutMs: READ_MS, ofLog: true });
    return send().catch((error: unknown) => {
      if (!isCutOff(error)) throw error;
      return send();
    });
  };

  const direct = async (subject: string, body: string): Promise<StoredMessage | null> => {
    const message = await ask(subject, body);
    const { headers } = message;
    if (headers?.code === 404) return null;
    // The server adds its own behind those that were stored, which somebody else may have chosen.
    const told = (name: string): string => headers?.values(name).at(-1) ?? '';
    const seq = told('Nats-Sequence');
    if (!headers || !seq) {
      throw internal('log', `answered a read with "${headers?.description ?? 'nothing'}"`, 'see the stream settings');
    }
    return {
      subject: told('Nats-Subject'),
      seq: Number(seq),
      time: told('Nats-Time-Stamp'),
      headers,
      data: message.data,
      copied: headers.values('Nats-Stream').length > 1,
    };
  };

  const leader = async (stream: string, query: object): Promise<StoredMessage | null> => {
    const reply = (await ask(`$JS.API.STREAM.MSG.GET.${stream}`, JSON.stringify(query))).json<{
      error?: ApiError;
      message?: { subject: string; seq: number; time: string; hdrs?: string; data?: string };
    }>();
    if (reply.error?.err_code === 10037) return null;
    if (reply.error) throw fromApi(reply.error, stream);
    if (!reply.message) throw internal('log', 'answered a read with nothing', 'see the stream settings');
    const { subject, seq, time, hdrs, data } = reply.message;
    const headers = hdrs === undefined ? undefined : decodeHeaders(hdrs);
    return {
      subject,
      seq,
      time,
      ...(headers && { headers }),
      data: Buffer.from(data ?? '', 'base64'),
      copied: headers?.has('Nats-Stream') === true,
    };
  };

  return {
    last: (stream, subject) => direct(`$JS.API.DIRECT.GET.${stream}.${subject}`, ''),
    next: (stream, subject, fromSeq) =>
      direct(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify({ seq: Math.max(1, fromSeq), next_by_subj: subject })),
    lastFromLeader: (stream, subject) => leader(stream, { last_by_subj: subject }),
    nextFromLeader: (stream, subject, fromSeq) => leader(stream, { seq: Math.max(1, fromSeq), next_by_subj: subject }),
  };
}

/** The header block of `STREAM.MSG.GET`, which the client has no public decoder for. */
function decodeHeaders(base64: string): MsgHdrs {
  const headers = newHeaders();
  for (const line of Buffer.from(base64, 'base64').toString().split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}
