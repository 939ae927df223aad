import type { IncomingMessage } from 'node:http';
import { fault, RPC, type RpcFault } from './envelope.js';

/** Levels of arrays and objects in one message; a body of 16 MiB could hold millions, and serialising them overflows the stack. */
export const MAX_DEPTH = 128;

/**
 * Bytes above the limit that are still taken, and dropped, after the refusal: many clients look for an answer only when their whole body is
 * out, and a connection closed under them shows them a broken pipe instead.
 */
const DROPPED_BYTES = 64 * 1024 * 1024;

/**
 * The parsed body, or why there is none. Keeps nothing above the limit: what is declared or comes above it costs no memory.
 * Rejects only when the client went away.
 */
export function readMessage(
  req: IncomingMessage,
  limit: number,
): Promise<{ message: unknown; bytes: number } | RpcFault> {
  if (Number(req.headers['content-length'] ?? 0) > limit) {
    dropRest(req);
    return Promise.resolve(tooLarge(limit));
  }
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let rest: Buffer[] | undefined;
    let bytes = 0;
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > limit) {
        first = rest = undefined;
        req.off('data', take);
        dropRest(req);
        return resolve(tooLarge(limit));
      }
      if (first === undefined) first = chunk;
      else (rest ??= []).push(chunk);
    };
    req.on('data', take);
    req.on('end', () => {
      if (bytes > limit) return;
      const body =
        first === undefined
          ? ''
          : rest === undefined
            ? first.toString('utf8')
            : Buffer.concat([first, ...rest]).toString('utf8');
      resolve(parseMessage(body, bytes));
    });
    req.on('error', reject);
    req.on('close', () => {
      // It comes after every request, and an error costs its stack.
      if (!req.complete) reject(new Error('the client closed before its body was complete'));
    });
  });
}

/** Takes what still comes of a refused body and keeps none of it. The time is bounded by the server's limit for a whole request. */
export function dropRest(req: IncomingMessage): void {
  let dropped = 0;
  req.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > DROPPED_BYTES) req.socket.destroy();
  });
}

function parseMessage(text: string, bytes: number): { message: unknown; bytes: number } | RpcFault {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return fault(RPC.parse, 'Parse error: the body is no JSON');
  }
  const problem = shapeFault(message, 0);
  return problem === undefined ? { message, bytes } : fault(RPC.invalidRequest, problem);
}

/** What no message of ours may contain: endless depth, and a name that means something to the language we run in. */
function shapeFault(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= MAX_DEPTH) return `The message is nested deeper than ${MAX_DEPTH} levels`;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item !== 'object') continue;
      const problem = shapeFault(item, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const key in value) {
    if (key === '__proto__') return 'The message has a member named __proto__';
    const item = (value as Record<string, unknown>)[key];
    if (typeof item !== 'object') continue;
    const problem = shapeFault(item, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const tooLarge = (limit: number): RpcFault =>
  fault(413, `The body is larger than ${limit} bytes`, { status: 413, data: { limit } });
