import { createHmac } from 'node:crypto';
import { Agent as HttpAgent, request as http } from 'node:http';
import { Agent as HttpsAgent, request as https } from 'node:https';
import type { GapReport } from '@cortex/contracts/gap';
import { inProse } from '@cortex/contracts/fence';
import { transportVerdict } from '@cortex/contracts/transport-policy';
import { CONFIG, LOG } from '@cortex/service-kit';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Config } from '../config.js';

const TIMEOUT_MS = 5_000;
const SHORT = 140;

/** What is told of a ticket. */
export interface GapNotice {
  ticketId: string;
  backend: string;
  source: 'cortex-local' | 'backend-owned';
  report: GapReport;
  /** Address or subject of whoever reported it, or `anonymous`. */
  agent: string;
}

/**
 * Tells the platform team of blocking tickets, by one POST. Proxies of the environment are not used, a redirect is not followed, and
 * nothing of the answer is read but its status. Source: gateway, sections 16.3 and 23.
 */
@Injectable()
export class GapWebhook implements OnApplicationShutdown {
  // Agents of our own: the process's default ones may have been given a proxy.
  readonly #agents = { 'http:': new HttpAgent(), 'https:': new HttpsAgent() };

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) log: Logger,
  ) {
    const { CORTEX_TICKET_WEBHOOK_URL: url } = config;
    const verdict = url === undefined ? undefined : transportVerdict(url, true);
    if (verdict?.allowed && verdict.plaintext === 'remote')
      log.warn('CORTEX_TICKET_WEBHOOK_URL is http to another machine, where everybody on the way can read along');
  }

  get configured(): boolean {
    return this.config.CORTEX_TICKET_WEBHOOK_URL !== undefined;
  }

  onApplicationShutdown(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  /** Null when it was taken, else why not: the address itself may be a secret, so it stands in no such text. */
  async tell(notice: GapNotice, signal: AbortSignal): Promise<string | null> {
    const body = JSON.stringify(payloadOf(notice));
    const { CORTEX_TICKET_WEBHOOK_URL: address = '', CORTEX_TICKET_WEBHOOK_SECRET: secret } = this.config;
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(secret !== undefined && {
        'x-cortex-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      }),
    };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    return new Promise((resolve) => {
      const url = new URL(address);
      const secure = url.protocol === 'https:';
      const agent = this.#agents[secure ? 'https:' : 'http:'];
      const request = (secure ? https : http)(url, { method: 'POST', headers, agent, signal: limit });
      request.on('response', (response) => {
        const { statusCode = 0 } = response;
        resolve(statusCode >= 200 && statusCode < 300 ? null : `the webhook answered ${statusCode}`);
        // Whatever follows of the answer is of no use.
        response.on('error', () => undefined);
        request.destroy();
      });
      request.on('error', (error: NodeJS.ErrnoException) =>
        resolve(
          limit.aborted && !signal.aborted
            ? `the webhook did not answer within ${TIMEOUT_MS} ms`
            : `the webhook cannot be reached (${error.code ?? 'broken'})`,
        ),
      );
      request.end(body);
    });
  }
}

function payloadOf({ ticketId, backend, source, report, agent }: GapNotice): Record<string, unknown> {
  const { whatIWanted, userIntent, contextTool, contextApp, suggestedShape } = report;
  const where = contextTool ?? contextApp;
  const text = `Blocking ticket ${ticketId} (${backend})${where === null ? '' : ` about ${line(where)}`} by ${line(agent)}: ${line(whatIWanted)}`;
  return {
    type: 'cortex.ticket.blocking',
    ticketId,
    backend,
    source,
    whatIWanted,
    userIntent,
    contextTool,
    contextApp,
    suggestedShape,
    agent,
    text,
  };
}

/** Chat tools take what stands in angle brackets for an order of theirs, such as to call everybody. */
const line = (text: string): string => inProse(text, SHORT).replaceAll('<', '‹').replaceAll('>', '›');
