import { SERVICES } from '@cortex/contracts/services';
import { showControls } from '@cortex/contracts/text';
import { backendLines, backendsOf } from '../backends.js';
import { EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { isAlive, residentBytes } from '../identity.js';
import { megabytes, print, printJson, since, table } from '../output.js';
import { askProcess } from '../up/ready.js';
import { loginCode, runningState, type KeptProcess, type UpState } from '../up/state.js';

export async function status(flags: { home?: string; json?: boolean }): Promise<void> {
  const home = homeOf(flags.home);
  const state = runningState(home);
  if (state === null) {
    process.exitCode = EXIT.notRunning;
    if (flags.json) printJson({ running: false, home: home.dir });
    else print(`${home.dir} is not running; start it with: cortex up`);
    return;
  }
  const inOrder = state.processes.toSorted((a, b) => rank(a) - rank(b));
  const [backends, ...processes] = await Promise.all([
    backendsOf(home, state),
    supervisorOf(state),
    ...inOrder.map(processOf),
  ]);
  const ready = state.ready && processes.every((process) => process.ready);
  if (!ready) process.exitCode = EXIT.failed;
  const code = loginCode(home);
  const memory = processes.reduce((sum, process) => sum + (process.rss_bytes ?? 0), 0);
  if (flags.json) {
    const { endpoint, issuer, ports, since: up_since, version, each } = state;
    printJson({
      running: true,
      ready,
      home: home.dir,
      endpoint,
      issuer,
      login_code: code,
      ports,
      version,
      each,
      up_since,
      rss_bytes: memory,
      backends,
      processes,
    });
    return;
  }
  const rows = processes.map((one) => [
    one.name,
    String(one.pid),
    one.port === undefined ? '-' : String(one.port),
    since(one.since),
    megabytes(one.rss_bytes),
    String(one.restarts),
    one.ready ? 'ready' : `not ready: ${one.problem}`,
  ]);
  print(
    `${home.dir}: ${ready ? 'ready' : 'not ready'}, ${state.endpoint}, ${megabytes(memory)} in all${code === null ? '' : `; login code ${code}`}\n`,
  );
  const { webhooks, devices } = state.ports;
  print(`loopback routes http://127.0.0.1:${webhooks}/webhook, devices on port ${devices}\n`);
  const lines = backendLines(backends);
  if (lines.length > 0) print(`${showControls(lines.join('\n'))}\n\n`);
  print(table([['process', 'pid', 'port', 'up', 'memory', 'restarts', 'state'], ...rows]));
}

async function processOf(process: UpState['processes'][number]) {
  const { name, pid, port, ops, since: from, restarts, log } = process;
  const rss_bytes = isAlive(process) ? residentBytes(pid) : 0;
  return { name, pid, port, ops, since: from, restarts, log, rss_bytes, ...(await askProcess(process)) };
}

const supervisorOf = async ({ supervisor, since: from, ports, issuer, ready }: UpState) => ({
  name: 'up',
  pid: supervisor.pid,
  port: issuer === null ? undefined : ports.issuer,
  ops: undefined,
  since: from,
  restarts: 0,
  log: undefined,
  rss_bytes: residentBytes(supervisor.pid),
  ready,
  problem: ready ? '' : 'starting',
});

/** Bus and database first, then the services in the order of their list, however often each was started again. */
function rank({ kind, name }: KeptProcess): number {
  return { nats: 0, postgres: 1, services: 2 + (SERVICES as readonly string[]).indexOf(name) }[kind];
}
