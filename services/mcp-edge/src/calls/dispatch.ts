import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, type BusMessage, isCutOff } from '@cortex/bus';
import {
  CortexError,
  deadlineExceeded,
  type ErrorKind,
  INLINE_LIMIT,
  internal,
  isCortexError,
  subjects,
  type ToolReplyHead,
  unavailable,
  type Wait,
} from '@cortex/contracts';
import type { EdgeTool } from '../catalog/edge-tool.js';
import type { CallContext } from './call-context.js';

/** Time beyond a tool's own deadline that its service gets to say so itself. */
const GRACE_MS = 1_000;
/** A service whose connection is made again has nobody who answers for a moment. */
const BACK_WITHIN_MS = 2_000;
const LOOK_MS = 50;
const NEWLINE = 10;
const PLAIN_OK = Buffer.from('{"ok":true}\n');

/** A finished try of a call; `members` may be a view into the read buffer of the bus: write it, do not keep it. */
export interface Delivered {
  members: Uint8Array | string;
  /** Of a backend, until its result was checked: `structuredContent` as JSON text, which then joins the members. */
  structured?: string;
  is_error: boolean;
  meta?: Record<string, unknown>;
  /** Questions to the client in place of a result. */
  result_type?: 'input_required';
  last_seq?: number;
  /** Of a result with `isError` that came from a backend: the word for its record. */
  fault?: { kind: ErrorKind };
}
export type Reply = Delivered | { wait: Wait; last_seq?: number };

export interface Try {
  resume: boolean;
  after?: number | undefined;
  /** Milliseconds for the answer. */
  deadline: number;
}

/** Sends one try of a call to the service that owns its tool. Throws the service's error, or what became of the request. */
export async function askService(bus: Bus, ctx: CallContext, tool: EdgeTool, more: Try): Promise<Reply> {
  let body = requestBody(ctx, more);
  if (body.length * 3 > INLINE_LIMIT) body = await byReference(bus, body);
  const giveUp = performance.now() + BACK_WITHIN_MS;
  for (;;) {
    let message: BusMessage;
    try {
      message = await bus.request(tool.subject, body, { timeoutMs: more.deadline + GRACE_MS });
    } catch (error) {
      if (!hasNobody(error) || performance.now() > giveUp || ctx.input.cancel.cancelled) throw translated(error, tool);
      await sleep(LOOK_MS);
      continue;
    }
    return readReply(bus, message.data);
  }
}

/** Of what `askService` throws: the try came to nobody. */
export const isNotSent = (error: unknown): boolean => isCortexError(error) && error.details?.['outcome'] === 'not_sent';

const hasNobody = (error: unknown): boolean => isCortexError(error) && error.details?.['no_responder'] === true;

/** Tells whoever works on the call that nobody waits for it any more. */
export const sendCancel = (bus: Bus, ctx: CallContext, tool: EdgeTool): void => {
  if (bus.up) bus.publish(subjects.live(tool.service, 'cancel'), `{"call_id":"${ctx.call_id}"}`);
};

/** The BusRequest, put together of parts that are written already: an object would have to be walked again for every call. */
export function requestBody(ctx: CallContext, more: Try): string {
  const { caller, meta } = ctx.input;
  let body = `{"v":1,"call_id":"${ctx.call_id}","workspace_id":${ctx.workspace === null ? 'null' : JSON.stringify(ctx.workspace)},"principal":${caller.principal_json},"scope":${caller.scope_json},"args":${ctx.args_json},"deadline_ms":${more.deadline},"caller":"${caller.caller_hash}","traceparent":"${ctx.traceparent}"`;
  if (ctx.mode !== undefined) body += `,"mode":"${ctx.mode}"`;
  if (ctx.approval !== undefined) body += `,"approval":${JSON.stringify(ctx.approval)}`;
  if (more.resume) body += ',"resume":true';
  if (more.after !== undefined) body += `,"after":${more.after}`;
  if (meta.idempotency_key !== undefined) body += `,"idempotency_key":${JSON.stringify(meta.idempotency_key)}`;
  return `${body}}`;
}

async function byReference(bus: Bus, body: string): Promise<string> {
  const bytes = Buffer.from(body);
  return bytes.length <= INLINE_LIMIT ? body : JSON.stringify({ blob: await bus.blobs.put(bytes) });
}

/** First line: what happened. The rest: the inside of the result, not looked at here. */
async function readReply(bus: Bus, data: Uint8Array): Promise<Reply> {
  if (startsWith(data, PLAIN_OK)) return { members: data.subarray(PLAIN_OK.length), is_error: false };
  const border = data.indexOf(NEWLINE);
  const head = parseHead(border < 0 ? data : data.subarray(0, border));
  if (!head.ok) throw CortexError.fromWire(head.error);
  if (head.wait !== undefined)
    return { wait: head.wait, ...(head.last_seq !== undefined && { last_seq: head.last_seq }) };
  const members = head.blob === undefined ? data.subarray(border + 1) : await bus.blobs.get(head.blob);
  if (members.length === 0)
    throw internal('service', 'sent a result without a body', 'see that both sides have the same release');
  return {
    members,
    is_error: head.is_error === true,
    ...(head.meta !== undefined && { meta: head.meta }),
    ...(head.last_seq !== undefined && { last_seq: head.last_seq }),
  };
}

function startsWith(data: Uint8Array, prefix: Buffer): boolean {
  if (data.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (data[i] !== prefix[i]) return false;
  return true;
}

function parseHead(line: Uint8Array): ToolReplyHead {
  try {
    const head: unknown = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8'));
    if (typeof head === 'object' && head !== null && 'ok' in head) return head as ToolReplyHead;
  } catch {
    // Falls through to the one answer there is for it.
  }
  throw internal('service', 'sent an answer that is no framed reply', 'see that both sides have the same release');
}

/** The words of the bus name subjects; a client is told of its tool. */
function translated(error: unknown, tool: EdgeTool): unknown {
  if (!isCortexError(error)) return error;
  const { name, service } = tool;
  if (isCutOff(error))
    return unavailable(
      undefined,
      `the connection to ${service} broke while ${name} ran, and whether it took effect is unknown`,
      'look before you repeat it, or send it again with the same idempotency key',
      { details: { outcome: 'unknown' } },
    );
  if (error.kind === 'unavailable')
    return unavailable(
      undefined,
      `${name} cannot run now, its service ${service} is away and nothing was changed`,
      'try again in a moment',
      { details: { outcome: 'not_sent' } },
    );
  if (error.kind === 'deadline_exceeded')
    return deadlineExceeded(
      undefined,
      `${name} got no answer within ${tool.announced.deadline_ms} ms, and whether it took effect is unknown`,
      'look before you repeat it',
      { reason: 'timeout' },
    );
  return error;
}
