/** A rule of Prometheus. */
export interface Alert {
  /** Its runbook is docs/runbooks/<kebab>.md. */
  name: string;
  query: string;
  /** How long it has to be so. */
  lasts: string;
  severity: 'page' | 'ticket';
  says: string;
}

/** What somebody has to look at. Rules of Prometheus; each has a runbook. */
export const ALERTS: readonly Alert[] = [
  {
    name: 'EdgeIsAway',
    query: 'absent(gw_views_age_seconds) == 1',
    lasts: '2m',
    severity: 'page',
    says: 'No replica of the edge can be asked.',
  },
  {
    name: 'BusIsAway',
    query: 'min by (service) (cortex_bus_up) == 0',
    lasts: '1m',
    severity: 'page',
    says: 'An instance of {{ $labels.service }} has no connection to NATS.',
  },
  {
    name: 'DatabaseIsAway',
    query: 'min by (service) (cortex_database_up) == 0',
    lasts: '1m',
    severity: 'page',
    says: 'PostgreSQL does not answer an instance of {{ $labels.service }}.',
  },
  {
    name: 'CallsFail',
    query:
      'sum by (service) (rate(cortex_calls_total{outcome=~"internal|unavailable|deadline_exceeded"}[5m])) / sum by (service) (rate(cortex_calls_total[5m])) > 0.05',
    lasts: '5m',
    severity: 'page',
    says: 'One call in twenty of {{ $labels.service }} fails for a reason that is ours.',
  },
  {
    name: 'ViewsAreOld',
    query: 'max(gw_views_age_seconds) > 2',
    lasts: '1m',
    severity: 'page',
    says: 'The gates refuse calls into workspaces, since their views are behind the log.',
  },
  {
    name: 'ProjectionIsBehind',
    query: 'max by (service, projection) (cortex_projection_pending) > 1000',
    lasts: '10m',
    severity: 'ticket',
    says: '{{ $labels.projection }} of {{ $labels.service }} does not keep up with the log.',
  },
  {
    name: 'ViewLacksEvents',
    query: 'sum by (service, projection) (increase(cortex_projection_skipped[1h])) > 0',
    lasts: '0m',
    severity: 'ticket',
    says: '{{ $labels.projection }} of {{ $labels.service }} went on without messages that it cannot read.',
  },
  {
    name: 'ConsumerIsStuck',
    query:
      'max by (stream, consumer) (cortex_jetstream_ack_pending) > 0 and max by (stream, consumer) (delta(cortex_jetstream_pending[10m])) > 0',
    lasts: '15m',
    severity: 'ticket',
    says: '{{ $labels.consumer }} holds messages that it does not acknowledge, while others wait.',
  },
  {
    name: 'RecordsAreLost',
    query: 'sum(increase(gw_audit_dropped_total[10m])) > 0',
    lasts: '0m',
    severity: 'page',
    says: 'Records of requests could not be stored.',
  },
  {
    name: 'BackendIsAway',
    query: 'max by (backend) (gw_backend_up) == 0',
    lasts: '5m',
    severity: 'ticket',
    says: 'Backend {{ $labels.backend }} does not say what it offers; its tools are not listed.',
  },
  {
    name: 'ToolsAreHeldBack',
    query: 'max(gw_quarantined_tools) > 0',
    lasts: '15m',
    severity: 'ticket',
    says: 'Changed definitions of backends wait for an approval.',
  },
  {
    name: 'ApprovalsAreInDoubt',
    query: 'max(gw_integrity_degraded) == 1',
    lasts: '5m',
    severity: 'page',
    says: 'Approved definitions of a backend cannot be believed; what changed stays held back.',
  },
  {
    name: 'KeysAreOld',
    query: 'max(gw_jwks_stale) == 1',
    lasts: '10m',
    severity: 'ticket',
    says: 'The identity provider does not give its keys; tokens are checked with those of before.',
  },
  {
    name: 'ForeignMessages',
    query: 'sum by (service) (increase(cortex_messages_dropped_total[10m])) > 0',
    lasts: '0m',
    severity: 'ticket',
    says: 'Somebody sent {{ $labels.service }} what they may not send.',
  },
];

/** Name of its runbook, without folder and ending. */
export const runbookOf = ({ name }: Alert): string => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase();

/** `alerts.yaml`, as Prometheus reads it. */
export const alertRules = (): string =>
  [
    '# Written by `npm run deploy`; changes here are lost. Each alert has its runbook.',
    'groups:',
    '  - name: cortex',
    '    rules:',
    ...ALERTS.flatMap((alert) => [
      `      - alert: Cortex${alert.name}`,
      `        expr: ${JSON.stringify(alert.query)}`,
      `        for: ${alert.lasts}`,
      `        labels: { severity: ${alert.severity} }`,
      '        annotations:',
      `          summary: ${JSON.stringify(alert.says)}`,
      `          runbook: docs/runbooks/${runbookOf(alert)}.md`,
    ]),
    '',
  ].join('\n');
