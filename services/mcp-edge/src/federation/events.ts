import type { IncomingMessage } from 'node:http';
import { FailureLimiter } from '../auth/failure-limiter.js';
import { sameSecret } from '../auth/same-secret.js';
import type { AdminReply } from '../http/admin.js';
import { pathOf } from '../http/routes.js';
import { readMessage } from '../mcp/read-message.js';
import { kindsOf } from './exchange.js';
import type { Federation } from './federation.js';
import type { ListKind } from './types.js';

const PATH = /^\/api\/backends\/([^/]+)\/events$/;
const MAX_EVENTS = 100;
const MAX_BYTES = 256 * 1024;
const PER_MINUTE = 60;

export interface BackendEventsOptions {
  readonly federation: Pick<Federation, 'shelves' | 'changed' | 'resourceUpdated'>;
  /** Wrong tokens per address and minute. */
  readonly failuresPerMinute: number;
  readonly clientIp: (req: IncomingMessage) => string;
}

interface Told {
  kinds: Set<ListKind>;
  uris: string[];
}

/**
 * `POST /api/backends/<id>/events`: what a backend tells by itself, without a call. Each has a token of its own, so none can speak for another.
 * Source: gateway, section 12.9.
 */
export class BackendEvents {
  readonly #taken = new FailureLimiter(PER_MINUTE);
  readonly #failures: FailureLimiter;

  constructor(private readonly options: BackendEventsOptions) {
    this.#failures = new FailureLimiter(options.failuresPerMinute);
  }

  static takes(path: string): boolean {
    return PATH.test(path);
  }

  /** Rejects only when the other side went away in the middle of its body. */
  async answer(req: IncomingMessage): Promise<AdminReply> {
    const { federation, clientIp } = this.options;
    const id = PATH.exec(pathOf(req.url))?.[1] ?? '';
    const backend = federation.shelves.get(id)?.backend;
    if (backend?.eventToken === undefined) return refused(404, 'not_found');
    if (req.method !== 'POST') return { ...refused(405, 'method_not_allowed'), headers: { Allow: 'POST' } };
    const ip = clientIp(req);
    const locked = this.#failures.wait(ip);
    if (locked > 0) return tooMany(locked);
    if (!sameSecret(/^Bearer +(.+)$/i.exec(req.headers.authorization ?? '')?.[1] ?? '', backend.eventToken)) {
      this.#failures.count(ip);
      return { ...refused(401, 'Unauthorized'), headers: { 'WWW-Authenticate': 'Bearer' } };
    }
    const wait = this.#taken.wait(id);
    if (wait > 0) return tooMany(wait);
    this.#taken.count(id);
    const read = await readMessage(req, MAX_BYTES);
    if ('kind' in read) return refused(read.status === 413 ? 413 : 400, 'invalid_body', read.message);
    const told = eventsOf(read.message);
    if (typeof told === 'string') return refused(400, 'invalid_body', told);
    for (const uri of told.uris) federation.resourceUpdated(backend, uri);
    // Not waited for: the notices go out when the lists are there.
    if (told.kinds.size > 0) void federation.changed(id, [...told.kinds]);
    return { status: 202, body: {} };
  }
}

/** All of them together, or what is wrong with one. */
function eventsOf(body: unknown): Told | string {
  const events = (body as { events?: unknown } | null)?.events;
  if (!Array.isArray(events)) return 'events is no list; send {"events":[…]}';
  if (events.length > MAX_EVENTS) return `events holds more than ${MAX_EVENTS}; send several requests`;
  const told: Told = { kinds: new Set(), uris: [] };
  for (const [i, event] of events.entries()) {
    const { type, kinds, uri } = (event ?? {}) as Record<string, unknown>;
    if (type === 'list_changed' && Array.isArray(kinds)) for (const kind of kindsOf(kinds)) told.kinds.add(kind);
    else if (type === 'resource_updated' && typeof uri === 'string') told.uris.push(uri);
    else return `events[${i}] is neither list_changed with kinds nor resource_updated with a uri`;
  }
  return told;
}

const refused = (status: number, error: string, message?: string): AdminReply => ({
  status,
  body: { error, ...(message !== undefined && { message }) },
});
const tooMany = (seconds: number): AdminReply => ({
  ...refused(429, 'too_many_requests'),
  headers: { 'Retry-After': String(seconds) },
});
