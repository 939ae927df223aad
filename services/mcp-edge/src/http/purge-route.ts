import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ask, type Bus } from '@cortex/bus';
import { type BusRequest, subjects } from '@cortex/contracts';
import { FailureLimiter } from '../auth/failure-limiter.js';
import { sameSecret } from '../auth/same-secret.js';
import { type Instances, whileAlive } from '../catalog/instances.js';
import type { EdgeLog } from '../seams.js';
import type { AdminReply } from './admin.js';
import { pathOf } from './routes.js';

const PATH = '/api/cron/purge-audit';
const PURGE = subjects.command('audit', 'purge');
/** A year of a busy installation; what was deleted until then stays deleted, and the next one goes on. */
const LIMIT_MS = 10 * 60_000;

export interface PurgeRouteOptions {
  readonly bus: Bus;
  readonly instances: Pick<Instances, 'hold'>;
  /** `CRON_SECRET`; without it nobody is let in. */
  readonly secret: string | undefined;
  /** Wrong secrets per address and minute. */
  readonly failuresPerMinute: number;
  readonly clientIp: (req: IncomingMessage) => string;
  readonly log: EdgeLog;
}

/** `POST|GET /api/cron/purge-audit` for a timer: the audit service lets go what is older than the retention. Source: gateway, section 20. */
export class PurgeRoute {
  readonly #failures: FailureLimiter;

  constructor(private readonly options: PurgeRouteOptions) {
    this.#failures = new FailureLimiter(options.failuresPerMinute);
  }

  static takes(path: string): boolean {
    return path === PATH;
  }

  async answer(req: IncomingMessage): Promise<AdminReply> {
    const { secret, clientIp, bus, instances, log } = this.options;
    if (req.method !== 'POST' && req.method !== 'GET')
      return { status: 405, body: { error: 'method_not_allowed' }, headers: { Allow: 'GET, POST' } };
    const ip = clientIp(req);
    const wait = this.#failures.wait(ip);
    if (wait > 0)
      return { status: 429, body: { error: 'too_many_failures' }, headers: { 'Retry-After': String(wait) } };
    if (secret === undefined || !sameSecret(this.#given(req), secret)) {
      this.#failures.count(ip);
      return { status: 401, body: { error: 'Unauthorized' } };
    }
    const command: BusRequest = {
      v: 1,
      call_id: randomUUID(),
      workspace_id: null,
      principal: { type: 'system', id: 'cron', roles: [] },
      scope: {},
      args: {},
      deadline_ms: LIMIT_MS,
    };
    const ended = (): Error => new Error('audit ended in the middle of it');
    try {
      const { data } = await whileAlive(instances, 'audit', () => ask(bus, PURGE, command), ended);
      return { status: 200, body: { success: true, ...(data as object) } };
    } catch (error) {
      log.error({ err: error }, 'the audit trail could not be purged');
      return { status: 500, body: { error: 'purge_failed', hint: 'the log of the service audit says why' } };
    }
  }

  #given({ headers, url }: IncomingMessage): string {
    const given = headers['x-cron-secret'];
    if (typeof given === 'string') return given;
    const inUrl = new URL(url ?? '/', 'http://localhost').searchParams.get('secret');
    if (inUrl === null) return '';
    this.options.log.warn({ path: pathOf(url) }, 'a secret in a URL is written down by proxies; send x-cron-secret');
    return inUrl;
  }
}
