import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { CliError, EXIT, exitCodeOf, messageOf } from '../exit.js';
import { homeOf, openHome, type Home } from '../home.js';
import { print, printJson, tell } from '../output.js';
import { parsePort } from '../ports.js';
import { claudeLine, makeToken } from '../token.js';
import { alreadyRunning, loginCode, runningState, type UpState } from '../up/state.js';
import { Supervisor } from '../up/supervisor.js';

export interface UpFlags {
  home?: string;
  detach?: boolean;
  each?: boolean;
  port?: string;
  reset?: boolean;
  yes?: boolean;
  json?: boolean;
}

type FromChild = { tell: string } | { ready: UpState } | { failed: string; code: number };
/** Tells a supervisor in the background that somebody waits for its first words. */
const DETACHED = 'CORTEX_UP_DETACHED';

export async function up(flags: UpFlags): Promise<void> {
  const home = homeOf(flags.home);
  const port = flags.port === undefined ? undefined : parsePort('--port', flags.port);
  const inBackground = process.env[DETACHED] !== undefined;
  // So that no child of the supervisor takes itself for one.
  delete process.env[DETACHED];
  if (!inBackground) {
    if (runningState(home)) throw alreadyRunning(home);
    if (flags.reset && !flags.yes) await confirmReset(home);
    if (port !== undefined && process.env['PORT']) tell(`PORT=${process.env['PORT']} is set and wins over --port`);
    if (flags.detach) return detach(home, flags);
  }
  await supervise(home, { ...flags, port }, inBackground);
}

async function supervise(
  home: Home,
  flags: Omit<UpFlags, 'port'> & { port?: number },
  inBackground: boolean,
): Promise<void> {
  const toParent = (message: FromChild) =>
    new Promise<void>((resolve) => {
      if (process.connected) process.send?.(message, () => resolve());
      else resolve();
    });
  const supervisor = new Supervisor({
    home,
    each: flags.each === true,
    reset: flags.reset === true,
    port: flags.port,
    env: process.env,
    tell: inBackground ? (text) => void toParent({ tell: text }) : tell,
  });
  let signals = 0;
  const stopped = new Promise<void>((resolve) => {
    const onSignal = () => {
      if (++signals === 1) {
        if (!inBackground) tell('stopping; press Ctrl-C again to stop at once');
        void supervisor.stop().then(resolve, resolve);
      } else {
        void supervisor.kill().finally(() => process.exit(EXIT.failed));
      }
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  });
  try {
    const state = await supervisor.start();
    if (inBackground) {
      await toParent({ ready: state });
      process.disconnect?.();
    } else {
      announce(home, state, flags.json === true);
    }
  } catch (error) {
    if (inBackground) await toParent({ failed: messageOf(error), code: exitCodeOf(error) });
    throw error;
  }
  try {
    await Promise.race([stopped, supervisor.broken]);
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
  if (!inBackground) tell('stopped');
}

const claudeLogin = (endpoint: string): string =>
  `claude mcp add --transport http cortex ${endpoint} && claude mcp login cortex`;

/** What a newcomer needs: where, with what, and the line to paste. */
function announce(home: Home, state: UpState, json: boolean): void {
  const token = state.issuer === null ? null : makeToken(home, process.env);
  const code = loginCode(home);
  const bearer = token ?? '<token of your issuer>';
  // Behind a proxy clients come by its name: tokens and metadata are for that.
  const claude = claudeLine('cortex', state.canonical_uri, bearer);
  if (json) {
    const { endpoint, canonical_uri, ports, issuer, supervisor } = state;
    const pid = supervisor.pid;
    printJson({
      endpoint,
      canonical_uri,
      token,
      login_code: code,
      claude,
      home: home.dir,
      logs: home.logs,
      ports,
      issuer,
      pid,
    });
    return;
  }
  const elsewhere = home.dir === homeOf(undefined).dir ? '' : ` --home '${home.dir}'`;
  print(
    [
      '',
      'Cortex is up.',
      '',
      `  endpoint  ${state.canonical_uri}`,
      ...(state.canonical_uri === state.endpoint ? [] : [`  listening at ${state.endpoint}`]),
      `  token     ${bearer}`,
      ...(code === null ? [] : [`  login     ${code}   (for the page that a client without a token opens)`]),
      `  home      ${home.dir}`,
      `  command   ${home.bin}/cortex   (with ${home.bin} on your PATH: cortex)`,
      `  logs      ${home.logs}   (cortex logs -f${elsewhere})`,
      '',
      `  ${claude}`,
      ...(code === null
        ? []
        : ['', '  or without the token, by the page:', '', `  ${claudeLogin(state.canonical_uri)}`]),
      '',
    ].join('\n'),
  );
}

/** Starts the supervisor in a session of its own and waits until it is ready or has failed. */
async function detach(home: Home, flags: UpFlags): Promise<void> {
  openHome(home);
  const log = openSync(join(home.logs, 'up.log'), 'a', 0o600);
  const args = [
    ['up', '--home', home.dir],
    flags.each ? ['--each'] : [],
    flags.reset ? ['--reset', '--yes'] : [],
    flags.port === undefined ? [] : ['--port', flags.port],
  ].flat();
  const child = spawn(process.execPath, [...process.execArgv, String(process.argv[1]), ...args], {
    env: { ...process.env, [DETACHED]: '1' },
    cwd: dirname(home.dir),
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const state = await new Promise<UpState>((resolve, reject) => {
    child.on('message', (message: FromChild) => {
      if ('tell' in message) tell(message.tell);
      else if ('ready' in message) resolve(message.ready);
      else reject(new CliError(message.failed, message.code));
    });
    child.once('error', reject);
    child.once('exit', (code) =>
      reject(new CliError(`up ended with code ${code}; see ${home.logs}/up.log`, code ?? EXIT.failed)),
    );
  });
  if (child.connected) child.disconnect();
  child.unref();
  announce(home, state, flags.json === true);
}

async function confirmReset(home: Home): Promise<void> {
  if (!process.stdin.isTTY) throw new CliError('--reset deletes all data of the home; say --yes with it', EXIT.usage);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const question = `Delete all data below ${home.dir}/data (events, database)? Secrets and configuration stay. [y/N] `;
  const answer = await terminal.question(question);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was deleted');
}
