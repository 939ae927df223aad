import { invalidArgument, type BusRequest } from '@cortex/contracts';
import { z } from 'zod';

const text = z.string().max(512);
const token = z.string().min(1).max(256);

const Request = z.object({
  v: z.literal(1),
  call_id: token,
  workspace_id: z.string().max(64).nullable(),
  principal: z.object({ type: z.enum(['user', 'agent', 'device', 'system']), id: token, roles: z.array(text) }),
  scope: z.record(z.string(), text.optional()),
  mode: text.optional(),
  args: z.record(z.string(), z.unknown()),
  approval: z.looseObject({ via: z.enum(['human', 'mode', 'dial']) }).optional(),
  resume: z.boolean().optional(),
  after: z.number().int().nonnegative().optional(),
  deadline_ms: z.number().positive(),
  idempotency_key: z.string().min(1).max(1024).optional(),
  caller: token.optional(),
  traceparent: text.optional(),
  tool: text.optional(),
});

/** A request of another service is still checked: a sender of another release must not get as far as a handler. */
export function checkRequest(request: unknown): BusRequest {
  const checked = Request.safeParse(request);
  if (checked.success) return checked.data as BusRequest;
  const issue = checked.error.issues[0];
  throw invalidArgument(
    'request',
    `is malformed at ${issue?.path.join('.') || 'its root'}`,
    'run one release of Cortex everywhere',
  );
}
