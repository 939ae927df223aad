import type { Secrets, ServiceDefinition } from '@cortex/service-kit';
import { alertRules } from './alerts.js';
import { chartSchema, chartServices } from './chart.js';
import { composeParts } from './compose.js';
import { DASHBOARDS, dashboardJson } from './dashboards.js';
import { usersConf } from './nats.js';
import { scrapeTargets } from './prometheus.js';

/**
 * Every file of the deployment that names services, with the text that it has to have: whole, or between its marks
 * `# <part>` and `# </part>`. `sample` is a set of secrets as `cortex secrets` makes them, of which only the forms are looked at; `read`
 * gives what is there.
 */
export function deploymentFiles(
  definitions: readonly ServiceDefinition[],
  sample: Secrets,
  read: (path: string) => string,
): [path: string, text: string][] {
  const within = (path: string, parts: Readonly<Record<string, string>>): [string, string] => [
    path,
    Object.entries(parts).reduce((text, [part, inside]) => between(path, text, part, inside), read(path)),
  ];
  return [
    within('docker-compose.yml', composeParts(definitions)),
    ['deploy/nats/users.conf', usersConf(definitions)],
    ['helm/cortex/files/users.conf', usersConf(definitions)],
    ...DASHBOARDS.map((one): [string, string] => [`deploy/grafana/dashboards/${one.file}.json`, dashboardJson(one)]),
    ['deploy/prometheus/alerts.yaml', alertRules()],
    ['helm/cortex/files/alerts.yaml', alertRules()],
    ['helm/cortex/services.yaml', chartServices(sample)],
    ['helm/cortex/values.schema.json', chartSchema(read('helm/cortex/values.schema.json'))],
    within('deploy/prometheus/prometheus.yml', { services: scrapeTargets() }),
  ];
}

function between(path: string, text: string, part: string, inside: string): string {
  const [begin, end] = [`# <${part}>\n`, `# </${part}>\n`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path} has no part ${part}; put its marks back`);
  const indent = /[ ]*$/.exec(text.slice(0, to))![0];
  return text.slice(0, from + begin.length) + inside + indent + text.slice(to);
}
