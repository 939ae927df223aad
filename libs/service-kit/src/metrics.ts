import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

export type CallKind = 'tool' | 'query' | 'cmd';

/** Milliseconds to seconds-scale calls; a shell command may take minutes. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

const SCRAPE_MS = 2_000;

const within = (ms: number, work: Promise<void>): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
};

/** The process's Prometheus metrics. Add your own with `registers: [metrics.registry]`. */
export class Metrics {
  readonly registry = new Registry();

  /** One of a service's own, by a name that begins with `cortex_`. The same name again is the same counter. */
  counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    const known = this.registry.getSingleMetric(name) as Counter<Label> | undefined;
    return known ?? new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  readonly calls = new Counter({
    name: 'cortex_calls_total',
    help: 'Calls answered, by outcome: ok, or the kind of the error',
    labelNames: ['service', 'kind', 'name', 'outcome'],
    registers: [this.registry],
  });

  readonly seconds = new Histogram({
    name: 'cortex_call_duration_seconds',
    help: 'Time from the arrival of a call to its answer',
    labelNames: ['service', 'kind', 'name'],
    buckets: SECONDS,
    registers: [this.registry],
  });

  readonly inFlight = new Gauge({
    name: 'cortex_calls_in_flight',
    help: 'Calls that are being worked on',
    labelNames: ['service'],
    registers: [this.registry],
  });

  readonly dropped = new Counter({
    name: 'cortex_messages_dropped_total',
    help: 'Messages that nobody may send here (foreign subject or reply subject), dropped unanswered',
    labelNames: ['service'],
    registers: [this.registry],
  });

  readonly busUp = new Gauge({
    name: 'cortex_bus_up',
    help: '1 while the connection to NATS stands',
    labelNames: ['service'],
    registers: [this.registry],
  });

  readonly databaseUp = new Gauge({
    name: 'cortex_database_up',
    help: '1 while PostgreSQL answers',
    labelNames: ['service'],
    registers: [this.registry],
  });

  readonly projectionPosition = new Gauge({
    name: 'cortex_projection_position',
    help: 'Stream sequence up to which a projection has applied the log',
    labelNames: ['service', 'projection'],
    registers: [this.registry],
  });

  readonly projectionPending = new Gauge({
    name: 'cortex_projection_pending',
    help: 'Messages of its subject that a projection has not applied yet (its lag)',
    labelNames: ['service', 'projection'],
    registers: [this.registry],
  });

  readonly projectionSkipped = new Gauge({
    name: 'cortex_projection_skipped',
    help: 'Messages that a projection skipped: no commit of their subject, or of a newer version',
    labelNames: ['service', 'projection'],
    registers: [this.registry],
  });

  readonly consumerPending = new Gauge({
    name: 'cortex_jetstream_pending',
    help: 'Messages that JetStream holds for a durable consumer and has not delivered',
    labelNames: ['service', 'stream', 'consumer'],
    registers: [this.registry],
  });

  readonly consumerUnacked = new Gauge({
    name: 'cortex_jetstream_ack_pending',
    help: 'Messages delivered to a durable consumer and not acknowledged yet',
    labelNames: ['service', 'stream', 'consumer'],
    registers: [this.registry],
  });

  readonly #scrapes = new Set<() => Promise<void>>();

  /** Values that are asked for when somebody looks; returns the way to take it out again. */
  onScrape(fill: () => Promise<void>): () => void {
    this.#scrapes.add(fill);
    return () => void this.#scrapes.delete(fill);
  }

  /** In Prometheus' text format. What cannot be learned in time is left as it was. */
  async text(): Promise<string> {
    await Promise.allSettled([...this.#scrapes].map((fill) => within(SCRAPE_MS, fill())));
    return this.registry.metrics();
  }

  /** CPU, memory, event loop and collector of the process. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }
}
