import { isCortexError } from '@cortex/contracts';
import { z } from 'zod';
import { randomHex16 } from '../calls/ids.js';
import type { Records } from '../calls/records.js';
import type { AdminReply, AdminRoutes } from '../http/admin.js';
import { explain, type ExplainWorld } from './explain.js';

const Question = z.strictObject({
  tool: z.string().min(1).max(256),
  token: z
    .string()
    .min(1)
    .max(16 * 1024),
  arguments: z.record(z.string(), z.unknown()).optional(),
});

/** In the records: whoever holds the secret, of whom nobody knows more. */
const OPERATOR = { sub: 'operator', client_id: '', role: '', pool: '', email: '', dev_bypass: false };

/** `POST /api/admin/explain {tool, token, arguments?}` answers an `Explanation`. Each question leaves one record, without the token. */
export function addExplainRoute(admin: AdminRoutes, world: ExplainWorld, records: Pick<Records, 'request'>): void {
  const answer = async (body: unknown): Promise<AdminReply & { params?: object }> => {
    const read = Question.safeParse(body);
    if (!read.success) {
      const [issue] = read.error.issues;
      const message = `${issue?.path.join('.') || 'body'}: ${issue?.message}`;
      return { status: 400, body: { error: 'invalid_argument', message } };
    }
    const { token: _, ...params } = read.data;
    try {
      return { status: 200, body: await explain({ arguments: undefined, ...read.data }, world), params };
    } catch (error) {
      if (!isCortexError(error) || error.kind !== 'unavailable') throw error;
      return {
        status: 503,
        body: { error: 'unavailable', message: error.message },
        headers: { 'Retry-After': '1' },
        params,
      };
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
