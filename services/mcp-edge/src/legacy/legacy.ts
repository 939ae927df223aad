import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '@cortex/bus';
import type { Authenticator, EdgeCore, LegacyLayer } from '../seams.js';
import type { Settings } from '../settings.js';
import { createDispatch } from './dispatch.js';
import { HttpSse } from './http-sse.js';
import { Listeners, type LegacyMetrics } from './listeners.js';
import { Questions } from './questions.js';
import { SessionStore } from './session-store.js';
import { Streamable } from './streamable.js';
import { Streams } from './streams.js';

export interface LegacyOptions {
  core: EdgeCore;
  settings: Settings;
  bus: Bus;
  metrics: LegacyMetrics;
  scopeChallenge: Authenticator['scopeChallenge'];
  log: (level: 'warn' | 'error', message: string, fields: Record<string, unknown>) => void;
}

/** How long a stop leaves an HTTP+SSE stream open for the answers that are to go over it. */
const DRAIN_MS = 15_000;

/** The revisions before 2026-07-28, over the same calls as the modern one. */
export function createLegacy({ core, settings, bus, metrics, scopeChallenge, log }: LegacyOptions): LegacyLayer {
  const streams = new Streams(settings.CORTEX_SSE_KEEPALIVE_MS);
  const listeners = new Listeners(core, streams, metrics, settings.OAUTH_CLOCK_SKEW_SECONDS);
  const dispatch = createDispatch(core, log);
  const sessions = new SessionStore(bus);
  const questions = new Questions(settings.CORTEX_INPUT_TIMEOUT_MS);
  const streamable = new Streamable({
    core,
    settings,
    sessions,
    dispatch,
    listeners,
    streams,
    questions,
    metrics,
    scopeChallenge,
    log,
  });
  const httpSse = new HttpSse({ core, settings, dispatch, listeners, questions, log });
  return {
    post: (exchange, message) => streamable.post(exchange, message),
    get: (exchange) => streamable.get(exchange),
    delete: (exchange) => streamable.delete(exchange),
    sse: (exchange) => httpSse.sse(exchange),
    messages: (exchange, message) => httpSse.messages(exchange, message),
    async close() {
      const busy = (key: string) => httpSse.busy(key);
      const deadline = Date.now() + DRAIN_MS;
      while (listeners.close(busy) > 0 && Date.now() < deadline) await sleep(50);
      listeners.close(() => false);
      streams.close();
    },
  };
}
