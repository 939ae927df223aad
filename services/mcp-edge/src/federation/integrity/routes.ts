import { type CortexError, isCortexError } from '@cortex/contracts';
import { isObject } from '@cortex/contracts/is-object';
import { z } from 'zod';
import type { AdminReply, AdminRoutes } from '../../http/admin.js';
import type { IntegrityDesk } from './desk.js';

const Digest = z.string().regex(/^[0-9a-f]{64}$/);
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

/** What a field of a decision is when it is refused, and what to do about it. */
const WRONG: Readonly<Record<string, string>> = {
  body: 'is no object in JSON; send {"tool": "<backend>/<name>", "digest": "<what was shown>"}',
  action: 'is unknown; use acknowledge, rollback or start_over, or leave it out to approve',
  tool: 'is missing or too long; name it as it is listed or as <backend>/<original name>',
  digest: 'is no digest of 64 hex digits; take one that cortex tools pending --json or history --json shows',
  backend: 'is missing or too long; name one of CORTEX_BACKENDS',
  by: 'is no text of 1 to 128 characters without controls; shorten it, or leave it out',
};

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
  const read = Decision.safeParse(isObject(body) ? { action: 'acknowledge', ...body } : body);
  if (!read.success) {
    const [issue] = read.error.issues;
    if (issue?.code === 'unrecognized_keys') return invalid(`${issue.keys[0]} is unknown; leave it out`);
    const field = String(issue?.path[0] ?? 'body');
    return invalid(`${field} ${WRONG[field] ?? WRONG['body']}`);
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
