import {
  CortexError,
  INLINE_LIMIT,
  internal,
  invalidArgument,
  type BlobRef,
  type BusReply,
  type BusRequest,
} from '@cortex/contracts';
import type { Bus, BusMessage } from './bus.js';

/** Stands for a body that travels by reference. */
interface ByReference {
  blob: BlobRef;
}

/** The answer may be late by the way itself: the callee's own deadline comes first, and is told better. */
const GRACE_MS = 500;

/**
 * One query or command to another service. A body over the inline limit goes by reference, both ways.
 * Errors: the other side's own, and those of `Bus.request`.
 */
export async function ask(
  bus: Bus,
  subject: string,
  request: BusRequest,
  signal?: AbortSignal,
): Promise<{ data: unknown; last_seq?: number }> {
  const body = await inline(bus, JSON.stringify(request));
  const message = await bus.request(subject, body, {
    timeoutMs: request.deadline_ms + GRACE_MS,
    ...(signal && { signal }),
  });
  const reply = (await outline(bus, message, subject)) as BusReply | null;
  if (reply?.ok === true)
    return { data: reply.data, ...(reply.last_seq !== undefined && { last_seq: reply.last_seq }) };
  if (reply?.ok === false && reply.error) throw CortexError.fromWire(reply.error);
  throw internal('bus', `got an answer to ${subject} that is no reply`, 'see that both sides have the same release');
}

/** The request in a message, fetched from the blobs when it came by reference. Errors: `invalid_argument`. */
export async function readRequest(bus: Bus, message: BusMessage): Promise<BusRequest> {
  const request = (await outline(bus, message, message.subject)) as BusRequest | null;
  if (request?.v !== 1 || typeof request.call_id !== 'string') {
    throw invalidArgument('request', 'is none of version 1', 'see that both sides have the same release');
  }
  return request;
}

/** Sends a reply of JSON; one over the inline limit goes by reference. */
export async function answer(bus: Bus, message: BusMessage, body: string): Promise<void> {
  message.respond(await inline(bus, body));
}

async function inline(bus: Bus, body: string): Promise<string> {
  if (body.length * 3 <= INLINE_LIMIT) return body;
  const bytes = Buffer.from(body);
  if (bytes.length <= INLINE_LIMIT) return body;
  return JSON.stringify({ blob: await bus.blobs.put(bytes) } satisfies ByReference);
}

async function outline(bus: Bus, message: BusMessage, what: string): Promise<unknown> {
  const body = parse(message.string(), what);
  if (!isReference(body)) return body;
  return parse(Buffer.from(await bus.blobs.get(body.blob)).toString(), what);
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidArgument('message', `on ${what} is no JSON`, 'send one JSON object', { cause });
  }
}

const isReference = (body: unknown): body is ByReference =>
  typeof body === 'object' && body !== null && 'blob' in body && !('v' in body) && !('ok' in body);
