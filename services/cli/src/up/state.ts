import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { CliError, EXIT } from '../exit.js';
import { readJson, writeJson, type Home } from '../home.js';
import { identityOf, isAlive, type Identity } from '../identity.js';
import { publicPorts, type InnerPorts, type PublicPorts } from '../ports.js';
import { version } from '../version.js';

/** One process that `up` keeps alive. */
export interface KeptProcess extends Identity {
  name: string;
  kind: 'nats' | 'postgres' | 'services';
  /** ISO time of its start. */
  since: string;
  /** How often it had to be brought back. */
  restarts: number;
  port?: number;
  /** Where its /health, /ready and /metrics are. */
  ops?: string;
  log: string;
}

/** `run/up.json`: what the supervisor tells every other command. Without a secret. */
export interface UpState {
  supervisor: Identity;
  version: string;
  since: string;
  /** True when everything was ready once. */
  ready: boolean;
  each: boolean;
  endpoint: string;
  canonical_uri: string;
  /** Null: tokens come from an issuer that is not ours. */
  issuer: string | null;
  nats_url: string;
  /** Without credentials. */
  database_url: string;
  ports: PublicPorts & Partial<InnerPorts>;
  processes: KeptProcess[];
}

export const readState = (home: Home): UpState | null => readJson<UpState>(home.up);
export const writeState = (home: Home, state: UpState): void => writeJson(home.up, state);

/** The state of a home whose supervisor lives, else null. */
export function runningState(home: Home): UpState | null {
  const state = readState(home);
  return state !== null && isAlive(state.supervisor) ? state : null;
}

/** What the login page of a running home asks for; null when its tokens come from another issuer. */
export function loginCode(home: Home): string | null {
  return existsSync(home.loginCode) ? readFileSync(home.loginCode, 'utf8').trim() : null;
}

/** Null where the environment names no Cortex that runs elsewhere, such as the containers beside this one. */
export function deployedState(env: NodeJS.ProcessEnv): UpState | null {
  const { CORTEX_ENDPOINT: endpoint, CORTEX_NATS_URL: nats_url, CORTEX_DATABASE_URL: database_url } = env;
  if (!endpoint || !nats_url || !database_url) return null;
  const ports = publicPorts(env);
  return {
    supervisor: identityOf(process.pid),
    version,
    since: new Date().toISOString(),
    ready: true,
    each: true,
    endpoint,
    canonical_uri: env['CORTEX_CANONICAL_URI'] || endpoint,
    issuer: env['OAUTH_ISSUER'] ? null : `http://127.0.0.1:${ports.issuer}`,
    nats_url,
    database_url,
    ports,
    processes: [],
  };
}

/** Of this home's `up`, else of the deployment that `CORTEX_ENDPOINT`, `CORTEX_NATS_URL` and `CORTEX_DATABASE_URL` name. */
export function assertRunning(home: Home): UpState {
  const state = runningState(home) ?? deployedState(process.env);
  if (state) return state;
  throw new CliError(`home ${home.dir} is not running; start it with: cortex up`, EXIT.notRunning);
}

/** Makes this process the only supervisor of the home; gives it back at the end. Throws when another one lives. */
export function lockHome(home: Home): () => void {
  const me = identityOf(process.pid);
  const draft = `${home.lock}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(me), { mode: 0o600 });
  try {
    for (let tries = 0; ; tries++) {
      try {
        linkSync(draft, home.lock); // fails when it is there; whoever reads it finds it whole
        return () => rmSync(home.lock, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || tries === 5) throw error;
      }
      if (holderLives(home.lock)) throw alreadyRunning(home);
      takeAway(home.lock);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

function holderLives(lock: string): boolean {
  try {
    return isAlive(JSON.parse(readFileSync(lock, 'utf8')) as Identity);
  } catch {
    return false;
  }
}

/** Of two that find the same dead lock, the slower one may have caught the fresh lock of the faster: it puts it back. */
function takeAway(lock: string): void {
  const caught = `${lock}.${process.pid}.old`;
  try {
    renameSync(lock, caught);
    if (holderLives(caught)) linkSync(caught, lock);
  } catch {
    // somebody was faster
  } finally {
    rmSync(caught, { force: true });
  }
}

export function alreadyRunning(home: Home): CliError {
  const state = runningState(home);
  const where = state === null ? '' : `: ${state.endpoint} (pid ${state.supervisor.pid})`;
  return new CliError(
    `home ${home.dir} is running already${where}; see cortex status, end it with cortex down`,
    EXIT.alreadyRunning,
  );
}
