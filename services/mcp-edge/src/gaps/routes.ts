import { ask, type Bus } from '@cortex/bus';
import { type CortexError, isCortexError, subjects } from '@cortex/contracts';
import { isObject } from '@cortex/contracts/is-object';
import { callId } from '../calls/ids.js';
import type { AdminReply, AdminRoutes } from '../http/admin.js';

const LIST = subjects.query('ticket', 'list_gaps');
const TRIAGE = subjects.command('ticket', 'triage_gap');
const DEADLINE_MS = 10_000;
const FILTERS = ['status', 'severity', 'contextApp', 'limit', 'cursor'];

/** Whoever holds the secret. */
const OPERATOR = { type: 'system' as const, id: 'operator', roles: ['operator'] };

/** `GET /api/admin/tickets`, `GET` and `PATCH /api/admin/tickets/<id>`: the ticket service answers. Source: gateway, section 16.5. */
export function addTicketRoutes(admin: AdminRoutes, bus: Bus): void {
  const asked = async <T>(subject: string, args: Record<string, unknown>): Promise<T> => {
    const call = { v: 1 as const, call_id: callId(), workspace_id: null, principal: OPERATOR, scope: {} };
    return (await ask(bus, subject, { ...call, args, deadline_ms: DEADLINE_MS })).data as T;
  };
  admin.add('tickets', {
    GET: ({ query }) =>
      answered(async () => {
        const unknown = [...query.keys()].find((name) => !FILTERS.includes(name));
        if (unknown !== undefined)
          return invalid(`${JSON.stringify(unknown)} is no filter; use some of ${FILTERS.join(', ')}`);
        const { limit, ...filters } = Object.fromEntries([...query].filter(([, value]) => value !== ''));
        const args = { mine: false, ...filters, ...(limit !== undefined && { limit: Number(limit) }) };
        return { status: 200, body: await asked(LIST, args) };
      }),
  });
  admin.add('tickets/*', {
    GET: ({ rest }) =>
      answered(async () => {
        const { tickets } = await asked<{ tickets: unknown[] }>(LIST, { mine: false, ticketId: rest });
        return { status: 200, body: tickets[0] };
      }),
    PATCH: ({ rest, body }) =>
      answered(async () => {
        if (!isObject(body)) return invalid('the body is no object; send what is to be changed');
        if (Object.hasOwn(body, 'ticketId')) return invalid('ticketId stands in the path; take it out of the body');
        return { status: 200, body: await asked(TRIAGE, { ...body, ticketId: rest }) };
      }),
  });
}

const invalid = (message: string): AdminReply => ({ status: 400, body: { error: 'invalid_argument', message } });

const STATUS: Partial<Record<CortexError['kind'], number>> = {
  invalid_argument: 400,
  not_found: 404,
  conflict: 409,
  failed_precondition: 409,
  unavailable: 503,
  deadline_exceeded: 503,
};

async function answered(work: () => Promise<AdminReply>): Promise<AdminReply> {
  try {
    return await work();
  } catch (error) {
    if (!isCortexError(error)) throw error;
    const { kind, message, details } = error;
    const status = STATUS[kind];
    if (status === undefined) throw error;
    const allowed = details?.['allowed'];
    return {
      status,
      body: { error: kind, message, ...(allowed !== undefined && { allowed }) },
      ...(status === 503 && { headers: { 'Retry-After': '1' } }),
    };
  }
}
