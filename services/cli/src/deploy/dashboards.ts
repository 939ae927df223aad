/** What Grafana and Prometheus are given. A test holds every query to the metrics that the services register. */

/** A graph of a dashboard. */
export interface Panel {
  title: string;
  /** What it tells, for whoever meets it at night. */
  says: string;
  unit: 's' | 'reqps' | 'short' | 'percentunit' | 'bytes' | 'currencyUSD';
  /** PromQL and the legend of its series. */
  queries: readonly [query: string, legend: string][];
}

/** A page of Grafana; `file` is its name in deploy/grafana/dashboards. */
export interface Dashboard {
  file: string;
  title: string;
  /** A query whose values are offered as `$name`. */
  variable?: { name: string; query: string };
  panels: readonly Panel[];
}

const RATE = '[$__rate_interval]';
const quantile = (q: number, metric: string, by: string, where = ''): string =>
  `histogram_quantile(${q}, sum by (le, ${by}) (rate(${metric}_bucket${where}${RATE})))`;

/** From the whole to the parts. */
export const DASHBOARDS: readonly Dashboard[] = [
  {
    file: 'overview',
    title: 'Cortex: overview',
    panels: [
      {
        title: 'Requests',
        says: 'MCP requests answered by all replicas of the edge.',
        unit: 'reqps',
        queries: [[`sum by (era, outcome) (rate(gw_requests_total${RATE}))`, '{{era}} {{outcome}}']],
      },
      {
        title: 'Time of a request',
        says: 'From its arrival to its answer, waits for people included.',
        unit: 's',
        queries: [
          [quantile(0.5, 'gw_request_seconds', 'era'), '{{era}} p50'],
          [quantile(0.99, 'gw_request_seconds', 'era'), '{{era}} p99'],
        ],
      },
      {
        title: 'Calls that failed, as a share',
        says: 'Every outcome but ok, refusals by the gates among them.',
        unit: 'percentunit',
        queries: [
          [
            // Zero, rather than nothing, where no call failed yet.
            `(sum by (service) (rate(cortex_calls_total{outcome!="ok"}${RATE})) or 0 * sum by (service) (rate(cortex_calls_total${RATE}))) / sum by (service) (rate(cortex_calls_total${RATE}))`,
            '{{service}}',
          ],
        ],
      },
      {
        title: 'Calls under way',
        says: 'What is being worked on now; it stands still at a height where something hangs.',
        unit: 'short',
        queries: [['sum by (service) (cortex_calls_in_flight)', '{{service}}']],
      },
      {
        title: 'Sessions and streams',
        says: 'Sessions of older revisions, and open event streams of all.',
        unit: 'short',
        queries: [
          ['sum(gw_sessions)', 'sessions'],
          ['sum by (kind) (gw_streams)', '{{kind}}'],
        ],
      },
      {
        title: 'Refused tokens',
        says: 'By reason; many of one reason is a clock, a key or an attack.',
        unit: 'reqps',
        queries: [
          [`sum by (reason) (rate(gw_auth_failures_total${RATE}))`, '{{reason}}'],
          [`sum(rate(gw_token_skew_total${RATE}))`, 'accepted thanks to the clock skew'],
          [`sum(rate(gw_rate_limited_total${RATE}))`, 'over their limit'],
          [`sum(rate(gw_rate_limit_local_total${RATE}))`, 'counted by one replica alone'],
        ],
      },
      {
        title: 'Connections to the bus',
        says: 'Instances whose connection stands, by service.',
        unit: 'short',
        queries: [['sum by (service) (cortex_bus_up)', '{{service}}']],
      },
      {
        title: 'Answers of the database',
        says: 'Instances that PostgreSQL answers, by service.',
        unit: 'short',
        queries: [['sum by (service) (cortex_database_up)', '{{service}}']],
      },
      {
        title: 'Memory',
        says: 'Resident, by instance.',
        unit: 'bytes',
        queries: [['process_resident_memory_bytes', '{{job}} {{instance}}']],
      },
      {
        title: 'Processor',
        says: 'Cores in use, by instance; a Node process has one.',
        unit: 'short',
        queries: [[`rate(process_cpu_seconds_total${RATE})`, '{{job}} {{instance}}']],
      },
      {
        title: 'Event loop',
        says: 'How late a timer comes, p99: over 0.1 s everything of that instance is slow.',
        unit: 's',
        queries: [['nodejs_eventloop_lag_p99_seconds', '{{job}} {{instance}}']],
      },
    ],
  },
  {
    file: 'tools',
    title: 'Cortex: tools',
    variable: { name: 'tool', query: 'label_values(gw_tool_calls_total, tool)' },
    panels: [
      {
        title: 'Calls of $tool',
        says: 'Recorded calls, by outcome.',
        unit: 'reqps',
        queries: [[`sum by (tool, outcome) (rate(gw_tool_calls_total{tool=~"$tool"}${RATE}))`, '{{tool}} {{outcome}}']],
      },
      {
        title: 'Time of $tool',
        says: 'Its record included.',
        unit: 's',
        queries: [
          [quantile(0.5, 'gw_tool_seconds', 'tool', '{tool=~"$tool"}'), '{{tool}} p50'],
          [quantile(0.99, 'gw_tool_seconds', 'tool', '{tool=~"$tool"}'), '{{tool}} p99'],
        ],
      },
      {
        title: 'In the service alone',
        says: 'Without the edge: what is left over is gates, record and bus.',
        unit: 's',
        queries: [
          [quantile(0.99, 'cortex_call_duration_seconds', 'name', '{kind="tool", name=~"$tool"}'), '{{name}} p99'],
        ],
      },
      {
        title: 'Most called',
        says: 'The ten tools with most calls.',
        unit: 'reqps',
        queries: [[`topk(10, sum by (tool) (rate(gw_tool_calls_total${RATE})))`, '{{tool}}']],
      },
    ],
  },
  {
    file: 'backends',
    title: 'Cortex: gateway backends',
    variable: { name: 'backend', query: 'label_values(gw_backend_up, backend)' },
    panels: [
      {
        title: 'Answers what it offers',
        says: '1 while it does; at 0 its tools are not listed.',
        unit: 'short',
        queries: [['min by (backend) (gw_backend_up{backend=~"$backend"})', '{{backend}}']],
      },
      {
        title: 'Requests',
        says: 'By outcome.',
        unit: 'reqps',
        queries: [
          [
            `sum by (backend, outcome) (rate(gw_backend_calls_total{backend=~"$backend"}${RATE}))`,
            '{{backend}} {{outcome}}',
          ],
        ],
      },
      {
        title: 'Time of a request',
        says: 'From the edge to the backend and back.',
        unit: 's',
        queries: [
          [quantile(0.5, 'gw_backend_seconds', 'backend', '{backend=~"$backend"}'), '{{backend}} p50'],
          [quantile(0.99, 'gw_backend_seconds', 'backend', '{backend=~"$backend"}'), '{{backend}} p99'],
        ],
      },
      {
        title: 'Time of a refresh',
        says: 'In which all of them said what they offer, p99.',
        unit: 's',
        queries: [[`histogram_quantile(0.99, sum by (le) (rate(gw_refresh_seconds_bucket${RATE})))`, 'p99']],
      },
      {
        title: 'What is offered',
        says: 'Tools, prompts and resources in the catalog.',
        unit: 'short',
        queries: [['max by (kind) (gw_catalog_items)', '{{kind}}']],
      },
      {
        title: 'Held back',
        says: 'Items that wait for an approval, and schemas that are not offered.',
        unit: 'short',
        queries: [
          ['max(gw_quarantined_tools)', 'quarantined'],
          ['max(gw_integrity_degraded)', 'approvals that cannot be believed'],
          ['max by (backend, reason) (gw_schema_faults)', '{{backend}} {{reason}}'],
        ],
      },
      {
        title: 'Results that do not fit',
        says: 'Results that are not what the output schema says.',
        unit: 'reqps',
        queries: [[`sum by (backend) (rate(gw_result_mismatches_total${RATE}))`, '{{backend}}']],
      },
    ],
  },
  {
    file: 'log',
    title: 'Cortex: log and projections',
    panels: [
      {
        title: 'Projections behind',
        says: 'Messages that a view has not applied yet.',
        unit: 'short',
        queries: [['max by (service, projection) (cortex_projection_pending)', '{{service}} {{projection}}']],
      },
      {
        title: 'Projections move',
        says: 'Sequence numbers per second.',
        unit: 'short',
        queries: [[`max by (projection) (deriv(cortex_projection_position${RATE}))`, '{{projection}}']],
      },
      {
        title: 'Skipped',
        says: 'Messages that are no commit, or of a newer release. It should not grow.',
        unit: 'short',
        queries: [['max by (service, projection) (cortex_projection_skipped)', '{{service}} {{projection}}']],
      },
      {
        title: 'Not delivered',
        says: 'Messages that JetStream holds for a consumer.',
        unit: 'short',
        queries: [['max by (stream, consumer) (cortex_jetstream_pending)', '{{consumer}}']],
      },
      {
        title: 'Not acknowledged',
        says: 'Delivered and under way; it stands still where a consumer is stuck.',
        unit: 'short',
        queries: [['max by (stream, consumer) (cortex_jetstream_ack_pending)', '{{consumer}}']],
      },
      {
        title: 'Age of the views of the gates',
        says: 'Over 2 s calls into workspaces wait or are refused.',
        unit: 's',
        queries: [['max by (instance) (gw_views_age_seconds)', '{{instance}}']],
      },
      {
        title: 'Dropped',
        says: 'Messages from who may not send them, and records that could not be stored. Both should be 0.',
        unit: 'short',
        queries: [
          [`sum by (service) (increase(cortex_messages_dropped_total${RATE}))`, '{{service}} foreign messages'],
          [`sum(increase(gw_audit_dropped_total${RATE}))`, 'records'],
          ['sum(gw_audit_lines_dropped)', 'lines of the audit trail'],
        ],
      },
    ],
  },
  {
    file: 'costs',
    title: 'Cortex: costs',
    panels: [
      {
        title: 'Spending per hour, by model',
        says: 'US dollars per hour that were recorded. Models without a price are other.',
        unit: 'currencyUSD',
        queries: [[`sum by (model) (rate(cortex_spent_usd_total${RATE})) * 3600`, '{{model}}']],
      },
      {
        title: 'Spending of the last 24 hours',
        says: 'US dollars, by how they are paid: api by use, plan by a subscription. What a process counts first under a model is not in it, since Prometheus sees no growth there; cost_query has the exact sums.',
        unit: 'currencyUSD',
        queries: [['sum by (mode) (increase(cortex_spent_usd_total[24h]))', '{{mode}}']],
      },
      {
        title: 'Reported or estimated',
        says: 'gateway is what a provider reported, estimate is made of tokens and prices.',
        unit: 'currencyUSD',
        queries: [[`sum by (source) (rate(cortex_spent_usd_total${RATE})) * 3600`, '{{source}}']],
      },
      {
        title: 'In a workspace or in none',
        says: 'Tokens per second.',
        unit: 'short',
        queries: [[`sum by (place) (rate(cortex_tokens_total${RATE}))`, '{{place}}']],
      },
      {
        title: 'Tokens, by kind',
        says: 'Per second; what is read from the cache of a model is cheap.',
        unit: 'short',
        queries: [[`sum by (kind) (rate(cortex_tokens_total${RATE}))`, '{{kind}}']],
      },
      {
        title: 'Tokens, by model',
        says: 'Per second, all kinds together.',
        unit: 'short',
        queries: [[`sum by (model) (rate(cortex_tokens_total${RATE}))`, '{{model}}']],
      },
      {
        title: 'Records without a price',
        says: 'Their cost is unknown: put the model into config/prices.json.',
        unit: 'short',
        queries: [[`sum by (model) (increase(cortex_unpriced_total${RATE}))`, '{{model}}']],
      },
      {
        title: 'Reports of spending',
        says: 'Commands that billing answered, by outcome.',
        unit: 'reqps',
        queries: [
          [
            `sum by (name, outcome) (rate(cortex_calls_total{service="billing", kind="cmd"}${RATE}))`,
            '{{name}} {{outcome}}',
          ],
        ],
      },
    ],
  },
];

/** One dashboard as Grafana provisions it. */
export function dashboardJson({ file, title, variable, panels }: Dashboard): string {
  const datasource = { type: 'prometheus', uid: 'prometheus' };
  const model = {
    uid: `cortex-${file}`,
    title,
    tags: ['cortex'],
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    schemaVersion: 41,
    templating: {
      list:
        variable === undefined
          ? []
          : [{ ...variable, type: 'query', datasource, multi: true, includeAll: true, refresh: 2 }],
    },
    panels: panels.map(({ title, says, unit, queries }, i) => ({
      id: i + 1,
      type: 'timeseries',
      title,
      description: says,
      datasource,
      gridPos: { x: (i % 2) * 12, y: Math.floor(i / 2) * 8, w: 12, h: 8 },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: queries.map(([expr, legendFormat], n) => ({
        refId: String.fromCodePoint(65 + n),
        expr,
        legendFormat,
        datasource,
      })),
    })),
  };
  return `${JSON.stringify(model, null, 2)}\n`;
}
