import { globSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { BillingMetrics } from '@cortex/billing/metrics';
import { EdgeMetrics } from '@cortex/mcp-edge/metrics';
import { Metrics } from '@cortex/service-kit';
import { describe, expect, it } from '@jest/globals';
import { ALERTS, runbookOf } from '../deploy/alerts.js';
import { DASHBOARDS } from '../deploy/dashboards.js';

const ROOT = resolve(import.meta.dirname, '../../../..');
/** Labels that are Prometheus' own, or of a histogram. */
const GIVEN = ['le', 'instance', 'job'];

/** What the processes of services register: name as it is scraped, to its labels. */
function exported(): Map<string, readonly string[]> {
  const metrics = new Metrics();
  new EdgeMetrics(metrics);
  new BillingMetrics({ metrics });
  metrics.watchProcess();
  const known = metrics.registry.getMetricsAsArray() as unknown as {
    name: string;
    type: string;
    labelNames?: string[];
  }[];
  return new Map(
    known.flatMap(({ name, type, labelNames = [] }) =>
      (type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']).map(
        (end) => [`${name}${end}`, labelNames] as const,
      ),
    ),
  );
}

/** What is wrong with a query: a metric that nobody exports, or a label that its metrics do not have. */
function faultsOf(query: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const names = [...new Set(query.match(/\b(?:gw|cortex|process|nodejs)_\w+/g))];
  const unknown = names.filter((name) => !known.has(name)).map((name) => `no metric ${name}`);
  const labels = new Set([...GIVEN, ...names.flatMap((name) => known.get(name) ?? [])]);
  const used = [
    ...[...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(',')),
    ...[...query.matchAll(/([a-z_]+)(?==~?"|!="|!~")/g)].map(([, label]) => label!),
  ].map((label) => label.trim());
  const missing = used.filter((label) => !labels.has(label)).map((label) => `no label ${label}`);
  return [...(names.length === 0 ? ['names no metric'] : []), ...unknown, ...missing].map(
    (fault) => `${fault}: ${query}`,
  );
}

describe('dashboards and alerts', () => {
  const known = exported();
  const panels = DASHBOARDS.flatMap((dashboard) => dashboard.panels);

  it('ask only for what the services export, by labels that it has', () => {
    const queries = [
      ...panels.flatMap(({ queries: asked }) => asked.map(([query]) => query)),
      ...DASHBOARDS.flatMap(({ variable }) => variable?.query ?? []).map((query) =>
        query.replace(/^label_values\((\w+), (\w+)\)$/, 'sum by ($2) ($1)'),
      ),
      ...ALERTS.map(({ query }) => query),
    ];
    expect(queries.flatMap((query) => faultsOf(query, known))).toEqual([]);
  });

  it('would be caught asking for something else', () => {
    expect(faultsOf('sum by (user) (gw_requests_total)', known)).toEqual([
      'no label user: sum by (user) (gw_requests_total)',
    ]);
    expect(faultsOf('gw_request_total{era="x"}', known)).toEqual([
      'no metric gw_request_total: gw_request_total{era="x"}',
      'no label era: gw_request_total{era="x"}',
    ]);
  });

  it('show every metric of ours somewhere', () => {
    const asked = [
      ...panels.flatMap(({ queries }) => queries.map(([query]) => query)),
      ...ALERTS.map(({ query }) => query),
    ];
    const unseen = [...known.keys()]
      .filter((name) => /^(gw|cortex)_/.test(name) && !/_(sum|count)$/.test(name))
      .filter((name) => !asked.some((query) => query.includes(name)));
    expect(unseen).toEqual([]);
  });

  it('lead to a runbook for each alert, and to each runbook', () => {
    const pages = globSync('docs/runbooks/*.md', { cwd: ROOT }).map((file) => basename(file, '.md'));
    expect(pages.toSorted()).toEqual(ALERTS.map(runbookOf).toSorted());
  });
});
