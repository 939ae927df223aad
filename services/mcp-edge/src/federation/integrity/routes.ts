import { type CortexError, isCortexError } from '@cortex/contracts';
import { z } from 'zod';
import type { AdminReply, AdminRoutes } from '../../http/admin.js';
import type { IntegrityDesk } from './desk.js';

const Digest = z.string().regex(/^[0-9a-f]{64}$/, 'is no digest of 64 hex digits');
const By = z
  .string()
  .min(1)
  .max(128)
  .regex(/^\P{Cc}*$/u)
  .default('operator');
const Tool = z.string().min(1).max(2048);
const Decision = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('acknowledge'), tool: Tool, digest: Digest.optional(), by: By }),
  z.strictObject({ action: z.literal('rollback'), tool: Tool, digest: Digest, by: By }),
  z.strictObject({ action: z.literal('start_over'), backend: z.string().min(1).max(64), by: By }),
]);

const ROOT = 'tool-integrity';

/** `/api/admin/tool-integrity` and what is below it. Source: gateway, section 17.6. */
export function addIntegrityRoutes(admin: AdminRoutes, desk: IntegrityDesk): void {
  admin.add(ROOT, {
    GET: () => ({ status: 200, body: desk.overview() }),
    POST: ({ body }) => answered(desk, () => decide(desk, body)),
  });
  admin.add(`${ROOT}/history`, {
    GET: ({ query }) => {
      const tool = query.get('tool');
      if (tool === null || tool === '') return invalid('tool is missing; name it in the query');
      return answered(desk, async () => ({ status: 200, body: await desk.history(tool) }));
    },
  });
  admin.add(`${ROOT}/proposal`, { GET: () => ({ status: 200, body: desk.proposal() }) });
  admin.add(`${ROOT}/baseline`, {
    PUT: async ({ body }) => {
      const reply = await answered(desk, async () => ({ status: 200, body: await desk.adopt(body) }));
      return reply.status === 400 || reply.status === 409 ? { ...reply, status: 422 } : reply;
    },
  });
}

async function decide(desk: IntegrityDesk, body: unknown): Promise<AdminReply> {
  const read = Decision.safeParse(
    typeof body === 'object' && body !== null ? { action: 'acknowledge', ...body } : body,
  );
  if (!read.success) {
    const [issue] = read.error.issues;
    return invalid(`${issue?.path.join('.') || 'body'}: ${issue?.message}`);
  }
  const { data } = read;
  switch (data.action) {
    case 'acknowledge':
      return { status: 200, body: await desk.acknowledge(data.tool, data.digest, data.by) };
    case 'rollback':
      return { status: 200, body: await desk.rollBack(data.tool, data.digest, data.by) };
    case 'start_over':
      return { status: 200, body: await desk.startOver(data.backend, data.by) };
  }
}

const invalid = (message: string): AdminReply => ({ status: 400, body: { error: 'invalid_argument', message } });

async function answered(desk: IntegrityDesk, work: () => Promise<AdminReply>): Promise<AdminReply> {
  try {
    return await work();
  } catch (error) {
    if (!isCortexError(error)) throw error;
    return refusal(desk, error);
  }
}

const STATUS: Partial<Record<CortexError['kind'], number>> = {
  invalid_argument: 400,
  not_found: 404,
  conflict: 409,
  failed_precondition: 409,
  unavailable: 503,
};

function refusal(desk: IntegrityDesk, { kind, reason, message, details, field }: CortexError): AdminReply {
  const word =
    details?.['word'] === 'operator_signed'
      ? 'operator_signed'
      : reason === 'changed_since_approval'
        ? 'definition_moved'
        : kind;
  const named = kind === 'not_found' && field === 'tool';
  const quarantined = named ? desk.quarantined().map(({ exposed, tool }) => exposed ?? tool) : undefined;
  return { status: STATUS[kind] ?? 500, body: { error: word, message, ...(quarantined && { quarantined }) } };
}
