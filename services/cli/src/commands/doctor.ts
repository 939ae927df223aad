import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findNatsServer } from '@cortex/embedded/nats-binary';
import { which } from '@cortex/embedded/child';
import { isPortFree } from '@cortex/embedded/ports';
import { postgresBinaries } from '@cortex/embedded/postgres-binaries';
import { CliError, EXIT, messageOf } from '../exit.js';
import { homeOf, type Home } from '../home.js';
import { isAlive } from '../identity.js';
import { print, printJson } from '../output.js';
import { publicPorts } from '../ports.js';
import { askProcess } from '../up/ready.js';
import { loginCode, readState, runningState, type UpState } from '../up/state.js';

interface Finding {
  check: string;
  ok: boolean;
  /** What was seen; what would mend it, when it is not well. */
  text: string;
}

/** Events that a view may be behind without anybody noticing. */
const LAG_LIMIT = 1_000;

export async function doctor(flags: { home?: string; json?: boolean }): Promise<void> {
  const home = homeOf(flags.home);
  const state = runningState(home);
  const checks: [string, () => string | Promise<string>][] = [
    ['node', node],
    ['nats-server', () => natsServer(home)],
    ['postgresql', postgresql],
    ['user namespaces', namespaces],
    ['home', () => permissions(home)],
    ['ports', () => (state === null ? ports() : 'held by the running home')],
    ['running', () => running(home, state)],
    ...(state === null ? [] : ([['login', () => login(home, state)]] satisfies [string, () => Promise<string>][])),
    ...(state === null ? [] : ([['projections', () => lag(home)]] satisfies [string, () => Promise<string>][])),
  ];
  const findings: Finding[] = [];
  for (const [check, look] of checks) {
    try {
      findings.push({ check, ok: true, text: await look() });
    } catch (error) {
      findings.push({ check, ok: false, text: messageOf(error) });
    }
  }
  const ok = findings.every((finding) => finding.ok);
  if (!ok) process.exitCode = EXIT.failed;
  if (flags.json) return printJson({ ok, findings });
  for (const finding of findings) print(`${finding.ok ? 'ok  ' : 'BAD '} ${finding.check.padEnd(16)} ${finding.text}`);
}

function node(): string {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 24) throw new CliError(`Node ${process.version} is too old; use 24 or newer`);
  return `${process.version} (${process.execPath})`;
}

function natsServer(home: Home): string {
  if (process.env['CORTEX_NATS_URL']) return 'not needed: CORTEX_NATS_URL is set';
  const binary = findNatsServer(home.bin);
  if (binary === null) return 'not on this machine; `up` fetches it';
  const version = execFileSync(binary, ['--version']).toString().trim();
  return `${version} (${binary})`;
}

function postgresql(): string {
  if (process.env['CORTEX_DATABASE_URL']) return 'not needed: CORTEX_DATABASE_URL is set';
  const { postgres } = postgresBinaries();
  return `${execFileSync(postgres, ['--version']).toString().trim()} (${postgres})`;
}

function namespaces(): string {
  if (process.getuid?.() !== 0 || process.env['CORTEX_DATABASE_URL'])
    return 'not needed: PostgreSQL is not started by root';
  const unshare = which('unshare');
  if (unshare === null) throw new CliError('`unshare` is missing; install util-linux, or set CORTEX_DATABASE_URL');
  try {
    execFileSync(unshare, ['--user', '--map-user=1000', '--map-group=1000', '--', 'true'], { stdio: 'pipe' });
  } catch {
    throw new CliError('root may not make one here; run as another user, or set CORTEX_DATABASE_URL');
  }
  return 'allowed, so that root can start PostgreSQL';
}

/** Written by people, and no secret: the home itself keeps others out. */
const PLAIN = ['prices.json', 'budget.json'];

function permissions(home: Home): string {
  if (!existsSync(home.dir)) return `${home.dir} is not there yet; \`up\` makes it`;
  accessSync(home.dir, constants.R_OK | constants.W_OK | constants.X_OK);
  const open = (path: string) => existsSync(path) && (statSync(path).mode & 0o077) !== 0;
  const config = join(home.dir, 'config');
  const files = existsSync(config)
    ? readdirSync(config)
        .filter((name) => !PLAIN.includes(name))
        .map((name) => join(config, name))
    : [];
  const wrong = [home.dir, config, ...files].filter(open);
  if (wrong.length > 0)
    throw new CliError(`others may read ${wrong.join(', ')}; use: chmod go= '${wrong.join("' '")}'`);
  return `${home.dir}, for its owner alone`;
}

async function ports(): Promise<string> {
  const wanted = publicPorts(process.env);
  const all = await Promise.all(
    Object.entries(wanted).map(async ([name, port]) => ({ name, port, free: await isPortFree(port) })),
  );
  const taken = all.filter(({ free }) => !free).map(({ name, port }) => `${port} (${name})`);
  if (taken.length > 0) throw new CliError(`taken: ${taken.join(', ')}; use up --port, or their variables`);
  return `free: ${all.map(({ port }) => port).join(', ')}`;
}

async function running(home: Home, state: UpState | null): Promise<string> {
  if (state === null) {
    const left = (readState(home)?.processes ?? []).filter(isAlive);
    if (left.length === 0) return 'no; start it with: cortex up';
    throw new CliError(`an earlier run was killed and left ${left.map(({ name }) => name).join(', ')}; use up or down`);
  }
  const answers = await Promise.all(
    state.processes.map(async (process) => {
      const answer = await askProcess(process);
      return answer.ready ? '' : `${process.name} is not ready: ${answer.problem}`;
    }),
  );
  const bad = answers.filter(Boolean);
  if (bad.length > 0) throw new CliError(`${bad.join('; ')}; see cortex logs`);
  return `${state.endpoint}, everything ready`;
}

/** Whether a client without a token would find the login page. */
async function login(home: Home, { issuer, endpoint }: UpState): Promise<string> {
  if (issuer === null) return 'at OAUTH_ISSUER, elsewhere';
  const json = async (url: string) =>
    (await (await fetch(url)).json()) as { authorization_servers?: string[]; registration_endpoint?: string };
  let found: { registration_endpoint?: string };
  try {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const answer = await fetch(endpoint, { method: 'POST', headers, body: '{}' });
    const challenge = /resource_metadata="([^"]+)"/.exec(answer.headers.get('www-authenticate') ?? '');
    const { authorization_servers: servers } = await json(String(challenge?.[1]));
    found = await json(`${servers?.[0]}/.well-known/oauth-authorization-server`);
  } catch (cause) {
    throw new CliError(`${endpoint} leads no client to ${issuer}; see cortex logs`, EXIT.failed, { cause });
  }
  if (!found.registration_endpoint) throw new CliError(`${issuer} lets no client register; see cortex logs up`);
  return `at ${issuer}, with the code ${loginCode(home)}`;
}

async function lag(home: Home): Promise<string> {
  const { statesOf } = await import('./projections.js');
  const states = await statesOf(home);
  const lost = states.filter((state) => state.lost).map(({ projection }) => projection);
  if (lost.length > 0)
    throw new CliError(`${lost.join(', ')} and the log do not belong together; run cortex projections rebuild --all`);
  const behind = states.filter(({ pending }) => pending === null || pending > LAG_LIMIT);
  if (behind.length > 0) {
    throw new CliError(
      `behind: ${behind.map((s) => `${s.projection} (${s.pending ?? 'unknown'})`).join(', ')}; see cortex logs`,
    );
  }
  return `${states.length}, all at the end of the log`;
}
