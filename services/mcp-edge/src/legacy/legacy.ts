import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '@cortex/bus';
import type { Authenticator, EdgeCore, LegacyLayer } from '../seams.js';
import type { Settings } from '../settings.js';
import { Connections, type LegacyMetrics } from './connections.js';
import { createDispatch } from './dispatch.js';
import { EventLog } from './event-log.js';
import { GetStreams } from './get-streams.js';
import { OFFERED } from './handshake.js';
import { HttpSse } from './http-sse.js';
import { Listeners } from './listeners.js';
import { Questions } from './questions.js';
import { Resumption } from './resumption.js';
import { SessionStreams } from './session-stream.js';
import { SessionStore } from './session-store.js';
import { Streamable } from './streamable.js';
import { Streams } from './streams.js';

export interface LegacyOptions {
  core: EdgeCore;
  settings: Settings;
  bus: Bus;
  metrics: LegacyMetrics;
  /** Whether an instance of the edge still runs. */
  lives: (instance: string) => boolean;
  scopeChallenge: Authenticator['scopeChallenge'];
  log: (level: 'warn' | 'error', message: string, fields: Record<string, unknown>) => void;
}

/** How long a stop leaves streams open for the answers that are to go over them. */
const DRAIN_MS = 15_000;

/** The revisions before 2026-07-28, over the same calls as the modern one. */
export function createLegacy({ core, settings, bus, metrics, lives, scopeChallenge, log }: LegacyOptions): LegacyLayer {
  const streams = new Streams(settings.CORTEX_SSE_KEEPALIVE_MS);
  const connections = new Connections(core, streams, metrics, settings.OAUTH_CLOCK_SKEW_SECONDS);
  const events = new EventLog(bus);
  const sessionStreams = new SessionStreams(bus, events, log);
  const listeners = new Listeners(core, connections, streams, (stream) => void sessionStreams.end(stream));
  const { instance } = bus;
  const shared = { core, settings, streams, sessionStreams, listeners, log: events, tell: log };
  const resumption = new Resumption({ ...shared, connections, instance, lives });
  const gets = new GetStreams({ ...shared, resumption });
  const dispatch = createDispatch(core, log);
  const sessions = new SessionStore(bus, OFFERED);
  const questions = new Questions(settings.CORTEX_INPUT_TIMEOUT_MS);
  const streamable = new Streamable({
    core,
    settings,
    sessions,
    dispatch,
    listeners,
    streams,
    sessionStreams,
    gets,
    resumption,
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
      connections.close();
      const left = (): number => listeners.close(busy) + resumption.close(false);
      while (left() > 0 && Date.now() < deadline) await sleep(50);
      listeners.close(() => false);
      resumption.close(true);
      streams.close();
    },
  };
}
