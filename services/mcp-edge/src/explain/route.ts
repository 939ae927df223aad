import { type CortexError, type ErrorKind, isCortexError, MODES } from '@cortex/contracts';
import { z } from 'zod';
import { randomHex16 } from '../calls/ids.js';
import type { Records } from '../calls/records.js';
import type { AdminReply, AdminRoutes } from '../http/admin.js';
import { explain, type ExplainWorld } from './explain.js';

const Name = z.string().min(1).max(256);
const Question = z.strictObject({
  tool: z.string().min(1).max(256),
  token: z
    .string()
    .min(1)
    .max(16 * 1024)
    .optional(),
  /** Whoever has no token at hand: one of the first three. */
  caller: z
    .strictObject({
      session: Name.optional(),
      agent: Name.optional(),
      person: Name.optional(),
      scopes: z.array(Name).max(100).optional(),
    })
    .optional(),
  space: Name.optional(),
  mode: z.enum(MODES).optional(),
  arguments: z.record(z.string(), z.unknown()).optional(),
});

const STATUS: Partial<Record<ErrorKind, number>> = { invalid_argument: 400, not_found: 404, unavailable: 503 };

/** In the records: whoever holds the secret, of whom nobody knows more. */
const OPERATOR = { sub: 'operator', client_id: '', role: '', pool: '', email: '', dev_bypass: false };

/**
 * `POST /api/admin/explain {tool, token | caller: {session | agent | person, scopes?}, space?, mode?, arguments?}` answers an `Explanation`.
 * Each question leaves one record, without the token.
 */
export function addExplainRoute(admin: AdminRoutes, world: ExplainWorld, records: Pick<Records, 'request'>): void {
  const answer = async (body: unknown): Promise<AdminReply & { params?: object }> => {
    const read = Question.safeParse(body);
    if (!read.success) {
      const [issue] = read.error.issues;
      const message = `${issue?.path.join('.') || 'body'}: ${issue?.message}`;
      return { status: 400, body: { error: 'invalid_argument', message } };
    }
    const { token, ...params } = read.data;
    const { caller, ...asked } = params;
    try {
      return { status: 200, body: await explain({ arguments: undefined, token, ...caller, ...asked }, world), params };
    } catch (error) {
      const status = isCortexError(error) ? STATUS[error.kind] : undefined;
      if (status === undefined) throw error;
      const { kind, message } = error as CortexError;
      const wait: Record<string, string> = status === 503 ? { 'Retry-After': '1' } : {};
      return { status, body: { error: kind, message }, headers: wait, params };
    }
  };
  admin.add('explain', {
    async POST({ body }) {
      const exchange = { caller: OPERATOR, started: performance.now(), request_id: randomHex16(), headers: {} };
      const { params, ...reply } = await answer(body);
      records.request(exchange, {
        method: '_explain',
        era: 'modern',
        params,
        outcome: reply.status === 200 ? 'succeeded' : 'failed',
        result_bytes: Buffer.byteLength(JSON.stringify(reply.body)),
      });
      return reply;
    },
  });
}
