import type { BusRequest } from '@cortex/contracts';
import type { Bus, BusMessage } from './bus.js';

export async function ask(
  bus: Bus,
  subject: string,
  request: BusRequest,
  signal?: AbortSignal,
): Promise<{ data: unknown; last_seq?: number }> {
  throw new Error(`no body yet ${bus.service} ${subject} ${request.call_id} ${signal?.aborted}`);
}
/** The request in a message, fetched from the blobs when it came by reference. */
export async function readRequest(bus: Bus, message: BusMessage): Promise<BusRequest> {
  throw new Error(`no body yet ${bus.service} ${message.subject}`);
}
/** Sends a JSON reply; a body over the inline limit goes by blob reference. */
export async function answer(bus: Bus, message: BusMessage, body: string | Uint8Array): Promise<void> {
  throw new Error(`no body yet ${bus.service} ${message.subject} ${body.length}`);
}
