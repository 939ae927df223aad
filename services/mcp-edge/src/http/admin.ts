import type { IncomingMessage } from 'node:http';
import { FailureLimiter } from '../auth/failure-limiter.js';
import { sameSecret } from '../auth/same-secret.js';
import { readMessage } from '../mcp/read-message.js';
import type { EdgeLog } from '../seams.js';
import { pathOf } from './routes.js';

export type AdminMethod = 'GET' | 'POST' | 'PUT' | 'PATCH';

export interface AdminRequest {
  readonly query: URLSearchParams;
  /** What stands behind the path of a route that ends in `/*`, decoded; else empty. */
  readonly rest: string;
  /** The parsed body; undefined for GET. */
  readonly body: unknown;
}
export interface AdminReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}
export type AdminHandler = (request: AdminRequest) => AdminReply | Promise<AdminReply>;

export interface AdminRoutesOptions {
  readonly secret: string | undefined;
  readonly maxBytes: number;
  /** Wrong secrets per address and minute, after which even a right one waits. */
  readonly failuresPerMinute: number;
  readonly clientIp: (req: IncomingMessage) => string;
  readonly log: EdgeLog;
}

const HEADER = 'x-cortex-admin-secret';
const ROOT = '/api/admin/';
const error = (status: number, word: string, more: object = {}, headers?: Record<string, string>): AdminReply => ({
  status,
  body: { error: word, ...more },
  ...(headers && { headers }),
});
const NO_SECRET = error(404, 'not_found', { hint: 'the routes of operators are off; set CORTEX_ADMIN_SECRET' });
const UNAUTHORIZED = error(401, 'Unauthorized');
const NOT_FOUND = error(404, 'not_found');

/** The routes of operators, `/api/admin/…`: all behind one secret, which is no tool's and in no token. Source: gateway, sections 2.1 and 17.6. */
export class AdminRoutes {
  readonly #routes = new Map<string, Partial<Record<AdminMethod, AdminHandler>>>();
  readonly #failures: FailureLimiter;

  constructor(private readonly options: AdminRoutesOptions) {
    this.#failures = new FailureLimiter(options.failuresPerMinute);
  }

  /** `path` stands below `/api/admin/`; one that ends in `/*` takes one more part. */
  add(path: string, methods: Partial<Record<AdminMethod, AdminHandler>>): void {
    this.#routes.set(path, methods);
  }

  static takes(path: string): boolean {
    return path.startsWith(ROOT);
  }

  /** Rejects only when the client went away in the middle of its body. */
  async answer(req: IncomingMessage): Promise<AdminReply> {
    const { secret, clientIp, log, maxBytes } = this.options;
    if (secret === undefined) return NO_SECRET;
    const ip = clientIp(req);
    const wait = this.#failures.wait(ip);
    if (wait > 0) return error(429, 'too_many_failures', {}, { 'Retry-After': String(wait) });
    const given = req.headers[HEADER];
    // Before the path, so that nobody learns which routes there are.
    if (!sameSecret(typeof given === 'string' ? given : '', secret)) {
      this.#failures.count(ip);
      return UNAUTHORIZED;
    }
    const found = this.#find(pathOf(req.url).slice(ROOT.length));
    if (found === undefined) return NOT_FOUND;
    const handler = found.methods[req.method as AdminMethod];
    if (handler === undefined || !Object.hasOwn(found.methods, req.method ?? ''))
      return error(405, 'method_not_allowed', {}, { Allow: Object.keys(found.methods).join(', ') });
    let body: unknown;
    if (req.method !== 'GET') {
      const read = await readMessage(req, maxBytes);
      if ('kind' in read) return error(read.status === 413 ? 413 : 400, 'invalid_body', { message: read.message });
      body = read.message;
    }
    try {
      const query = new URL(req.url ?? '/', 'http://localhost').searchParams;
      return await handler({ query, rest: found.rest, body });
    } catch (failure) {
      log.error({ err: failure, path: pathOf(req.url) }, 'a route of operators broke');
      return error(500, 'internal');
    }
  }

  #find(path: string): { methods: Partial<Record<AdminMethod, AdminHandler>>; rest: string } | undefined {
    const exact = this.#routes.get(path);
    if (exact !== undefined) return { methods: exact, rest: '' };
    const cut = path.indexOf('/');
    const methods = cut < 0 ? undefined : this.#routes.get(`${path.slice(0, cut)}/*`);
    const rest = decoded(path.slice(cut + 1));
    return methods === undefined || rest === undefined || rest === '' ? undefined : { methods, rest };
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
