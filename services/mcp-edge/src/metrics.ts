import type { Metrics } from '@cortex/service-kit';
import { Counter, Gauge, Histogram } from 'prom-client';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 600];

/** What the edge counts. Labels never hold users or tool arguments. Source: gateway, section 25. */
export class EdgeMetrics {
  readonly requests: Counter;
  readonly requestSeconds: Histogram;
  readonly toolCalls: Counter;
  readonly toolSeconds: Histogram;
  readonly authFailures: Counter;
  readonly tokenSkew: Counter;
  readonly jwksStale: Gauge;
  readonly rateLimited: Counter;
  readonly rateLimitLocal: Counter;
  readonly auditDropped: Counter;
  readonly auditLinesDropped: Gauge;
  readonly sessions: Gauge;
  readonly streams: Gauge;
  readonly catalogItems: Gauge;
  readonly viewsAge: Gauge;
  readonly schemaFaults: Gauge;
  readonly resultMismatches: Counter;
  readonly quarantinedTools: Gauge;
  readonly integrityDegraded: Gauge;
  readonly backendUp: Gauge;
  readonly refreshSeconds: Histogram;
  readonly #backendCalls: Counter;
  readonly #backendSeconds: Histogram;
  readonly #meters = new Map<string, Meter>();

  constructor({ registry }: Pick<Metrics, 'registry'>) {
    const registers = [registry];
    const counter = (name: string, help: string, labelNames: string[] = []) =>
      new Counter({ name, help, labelNames, registers });
    const gauge = (name: string, help: string, labelNames: string[] = []) =>
      new Gauge({ name, help, labelNames, registers });
    const seconds = (name: string, help: string, labelNames: string[]) =>
      new Histogram({ name, help, labelNames, buckets: SECONDS, registers });
    this.requests = counter('gw_requests_total', 'MCP requests answered', ['method', 'era', 'outcome']);
    this.requestSeconds = seconds('gw_request_seconds', 'Time from the arrival of a request to its answer', [
      'method',
      'era',
    ]);
    this.toolCalls = counter('gw_tool_calls_total', 'Tool calls recorded', ['tool', 'outcome']);
    this.toolSeconds = seconds('gw_tool_seconds', 'Time of a tool call, its record included', ['tool']);
    this.authFailures = counter('gw_auth_failures_total', 'Refused authentications', ['reason']);
    this.tokenSkew = counter('gw_token_skew_total', 'Tokens that were accepted only thanks to the clock skew');
    this.jwksStale = gauge('gw_jwks_stale', '1 while old keys are used because the issuer is away');
    this.rateLimited = counter('gw_rate_limited_total', 'Requests over the limit of their caller');
    this.rateLimitLocal = counter('gw_rate_limit_local_total', 'Windows that this replica had to count alone');
    this.auditDropped = counter('gw_audit_dropped_total', 'Records of requests that could not be stored');
    this.auditLinesDropped = gauge('gw_audit_lines_dropped', 'Lines of the audit trail that nobody took');
    this.sessions = gauge('gw_sessions', 'Legacy sessions opened here and not ended');
    this.streams = gauge('gw_streams', 'Open event streams', ['kind']);
    this.viewsAge = gauge(
      'gw_views_age_seconds',
      'Age of the views that gates decide on; over 2 calls wait or are refused',
    );
    this.schemaFaults = gauge('gw_schema_faults', 'Schemas of tools that are not offered, or not in a profile', [
      'backend',
      'reason',
    ]);
    this.resultMismatches = counter(
      'gw_result_mismatches_total',
      'Results that do not fit the output schema of their tool',
      ['backend'],
    );
    this.quarantinedTools = gauge(
      'gw_quarantined_tools',
      'Items of backends that are held back until somebody approves them',
    );
    this.integrityDegraded = gauge('gw_integrity_degraded', '1 while approvals of a backend cannot be believed');
    this.catalogItems = gauge('gw_catalog_items', 'Items that are offered', ['kind']);
    this.backendUp = gauge('gw_backend_up', '1 while a backend answers what it offers', ['backend']);
    this.refreshSeconds = seconds('gw_refresh_seconds', 'Time in which the backends said what they offer', []);
    this.#backendCalls = counter('gw_backend_calls_total', 'Requests to backends', ['backend', 'outcome']);
    this.#backendSeconds = seconds('gw_backend_seconds', 'Time of a request to a backend', ['backend']);
  }

  /** Unknown names share one label: they come from outside. */
  tool(name: string | undefined): Meter {
    const tool = name ?? '_unknown';
    return this.#meter(`tool ${tool}`, () => new Meter(this.toolCalls, this.toolSeconds, { tool }));
  }

  backend(id: string): Meter {
    return this.#meter(`backend ${id}`, () => new Meter(this.#backendCalls, this.#backendSeconds, { backend: id }));
  }

  /** `method` is one of a known list. */
  request(method: string, era: string): Meter {
    return this.#meter(`${era} ${method}`, () => new Meter(this.requests, this.requestSeconds, { method, era }));
  }

  #meter(key: string, make: () => Meter): Meter {
    let meter = this.#meters.get(key);
    if (meter === undefined) this.#meters.set(key, (meter = make()));
    return meter;
  }
}

/** A counter and a histogram with their labels bound once: looking labels up costs more than counting. */
class Meter {
  readonly #outcomes = new Map<string, Counter.Internal>();
  readonly #seconds: Histogram.Internal<string>;

  constructor(
    private readonly counter: Counter,
    seconds: Histogram,
    private readonly labels: Record<string, string>,
  ) {
    this.#seconds = seconds.labels(labels);
  }

  count(outcome: string, milliseconds: number): void {
    let counter = this.#outcomes.get(outcome);
    if (counter === undefined)
      this.#outcomes.set(outcome, (counter = this.counter.labels({ ...this.labels, outcome })));
    counter.inc();
    this.#seconds.observe(milliseconds / 1000);
  }
}
