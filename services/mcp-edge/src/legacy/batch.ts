import type { RpcId } from '../mcp/envelope.js';
import type { CallerContext, EdgeCore } from '../seams.js';
import { errorOf, readMessage, responseBytes, type LegacyMessage, type LegacyRequest, type Reply } from './message.js';

const MAX_BATCH = 100;

export interface BatchHandlers {
  request(request: LegacyRequest): Promise<Reply>;
  notification(message: Extract<LegacyMessage, { kind: 'notification' }>): void;
}

/** Why a batch is refused whole, or null. Only 2025-03-26 knows batches. */
export function batchFault(batch: readonly unknown[], revision: string | undefined): string | null {
  if (batch.length === 0) return 'An empty batch is no message';
  if (revision !== '2025-03-26') return 'Batches are not supported; send one message per request';
  return batch.length > MAX_BATCH ? `A batch holds at most ${MAX_BATCH} messages` : null;
}

/**
 * Runs the messages of a batch side by side. Gives the array of answers, or null when nothing in it wants one. Each request
 * but the first takes a permit of its own, or one post would carry a hundred past the limit.
 */
export async function runBatch(
  core: EdgeCore,
  caller: CallerContext,
  batch: readonly unknown[],
  handlers: BatchHandlers,
): Promise<Buffer | null> {
  const answers: Promise<Buffer>[] = [];
  for (const message of batch.map(readMessage)) {
    if (message.kind === 'notification') handlers.notification(message);
    else if (message.kind === 'invalid') {
      answers.push(Promise.resolve(invalidBytes(message.id, message.problem)));
    } else if (message.kind === 'request') {
      const first = answers.length === 0;
      const refusal = first ? undefined : await core.takePermit(caller);
      const reply = refusal ? Promise.resolve(errorOf(429, 'Rate limit exceeded')) : handlers.request(message);
      answers.push(reply.then((r) => responseBytes(message.id, r)));
    }
  }
  if (answers.length === 0) return null;
  const parts = (await Promise.all(answers)).flatMap((answer, i) => [Buffer.from(i === 0 ? '[' : ','), answer]);
  return Buffer.concat([...parts, Buffer.from(']')]);
}

const invalidBytes = (id: RpcId | undefined, message: string): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...(id !== undefined && { id }), error: { code: -32600, message } }));
