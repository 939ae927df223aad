import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats } from '@cortex/embedded/nats';
import { freePort } from '@cortex/embedded/ports';
import { initPostgres, startPostgres } from '@cortex/embedded/postgres';
import { PROVISIONER, subjects } from '@cortex/contracts';
import { mcpEdgeService } from '@cortex/mcp-edge';
import { connect } from '@nats-io/transport-node';
import { CliError } from '../exit.js';
import { homeOf, openHome, type Home } from '../home.js';
import { identityOf } from '../identity.js';
import { provision, writeNatsConfig } from '../provision.js';
import { ensureSecrets } from '../secrets.js';
import { tailOf } from '../tail.js';
import { makeToken } from '../token.js';
import { serviceEnvironment } from '../up/environment.js';
import { startIssuer } from '../up/issuer.js';
import { askReady } from '../up/ready.js';
import { startServiceProcess } from '../up/service-process.js';
import { writeState, type UpState } from '../up/state.js';
import { version } from '../version.js';
import { countRecords } from './call-records.js';
import { echoService } from './echo.js';
import { send } from './send.js';
import { startProgram } from './processes.js';
import { callOf, listOf, TOOL } from './request.js';
import type { Running, Target } from './targets.js';

export interface CortexSettings {
  name: string;
  what: string;
  /** Of the edge and the echo service. */
  env?: Record<string, string>;
  /** Tools in the catalog. */
  tools?: number;
  /** The reply is the text so many times over. */
  times?: number;
  /** It is asked for its list, not for an echo. */
  list?: true;
}

const READY_MS = 30_000;

/** Edge, echo service, broker and database, each a process of its own, wired by the launcher's own parts in a fresh home. */
export const cortexTarget = ({ name, what, env = {}, tools = 1, times, list }: CortexSettings): Target => ({
  name,
  what,
  async start() {
    await using stack = new AsyncDisposableStack();
    const home = homeOf(await mkdtemp(join(tmpdir(), 'cortex-bench-')));
    stack.defer(() => rm(home.dir, { recursive: true, force: true }));
    openHome(home);
    const secrets = await ensureSecrets(home);
    const echoDefinition = echoService(tools);
    const services = [mcpEdgeService, echoDefinition];
    writeNatsConfig(home, secrets, services);
    const { user, password } = secrets.database.admin;
    await initPostgres(home.postgres, password, user);
    const log = (of: string) => join(home.logs, `${of}.log`);
    const broker = await startNats({ dir: home.nats, configFile: home.natsConfig, logFile: log('nats') });
    stack.defer(() => broker.kill());
    const database = await startPostgres({ dir: home.postgres, logFile: log('postgres') });
    stack.defer(() => database.kill());
    const sink = stack.use(await startProgram('otlp-sink.js'));

    const state = await plan(home, broker.url, `postgres://127.0.0.1:${database.port}/cortex`);
    writeState(home, state);
    const issuer = await startIssuer(state.ports.issuer, secrets.issuer, {});
    stack.defer(() => issuer.close());
    const adminUrl = `postgres://${user}:${password}@127.0.0.1:${database.port}/cortex`;
    await provision({ nats_url: broker.url, admin_url: adminUrl }, secrets, services);

    // Everything on as shipped; only the limit of the limiter is out of reach.
    const settings = {
      ...process.env,
      CORTEX_RATE_LIMIT_PER_MINUTE: '1000000000',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${Number(sink.said['port'])}`,
      ...env,
    };
    const edgeEnv = serviceEnvironment(['mcp-edge'], home, state, secrets, settings);
    const begin = Promise.resolve();
    const { public: port } = state.ports;
    const edge = startServiceProcess({ services: ['mcp-edge'], env: edgeEnv, logFile: log('mcp-edge'), port, begin });
    stack.defer(() => edge.kill());
    const echoEnv = serviceEnvironment(['waitpoint'], home, state, secrets, settings);
    const echo = await startProgram('echo-main.js', [String(tools)], { env: { ...echoEnv, CORTEX_OPS_PORT: '0' } });
    stack.use(echo);
    const token = makeToken(home, {});
    const door = { port, token };
    await until('ready', log('mcp-edge'), async () => (await askReady(`http://127.0.0.1:${port}`)).ready);
    await until('listing the echo tool', log('mcp-edge'), async () =>
      (await send(port, listOf(door).request)).includes(`"${TOOL}"`),
    );

    const nc = await connect({
      servers: broker.url,
      user: PROVISIONER,
      pass: secrets.bus[PROVISIONER],
      inboxPrefix: `_INBOX_${PROVISIONER}`,
    });
    stack.defer(() => nc.close());
    const cleanUp = stack.move();
    return {
      ...(list ? listOf(door) : callOf(door, times)),
      port,
      server: edge.pid,
      helpers: { echo: echo.pid, broker: broker.pid, sink: sink.pid },
      async verify(answers) {
        if (list) return;
        const { ToolCallFinished: finished = 0, ToolCallStarted: started = 0 } = await countRecords(
          nc,
          subjects.call(echoDefinition.name, TOOL),
        );
        if (finished !== answers || started < finished) {
          throw new Error(`${name}: ${answers} answers, ${finished} ends and ${started} starts on record`);
        }
      },
      [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
    } satisfies Running;
  },
});

async function plan(home: Home, nats_url: string, database_url: string): Promise<UpState> {
  const [open, issuer, webhooks, devices] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const endpoint = `http://127.0.0.1:${open}/mcp`;
  return {
    supervisor: identityOf(process.pid),
    version,
    since: new Date().toISOString(),
    ready: true,
    each: true,
    endpoint,
    canonical_uri: endpoint,
    issuer: `http://127.0.0.1:${issuer}`,
    nats_url,
    database_url,
    ports: { public: open, issuer, webhooks, devices },
    processes: [],
  };
}

async function until(what: string, log: string, check: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + READY_MS; Date.now() < end;) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new CliError(`the edge is not ${what} after ${READY_MS / 1000} s:\n${tailOf(log, 15)}`);
}
