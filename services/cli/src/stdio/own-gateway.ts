import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { freePort } from '@cortex/embedded/ports';
import { CliError, EXIT } from '../exit.js';
import type { Home } from '../home.js';
import type { Slot } from './slot.js';
import type { ThrowAwayIssuer } from './tokens.js';

/** A gateway that nobody but its bridge uses. */
export interface OwnGateway {
  endpoint: string;
  /** Exit code of the gateway, when it ends. */
  gone: Promise<number>;
  /** Ends it in order. */
  stop(): Promise<void>;
}

/**
 * A gateway that lives with its bridge: tokens of the throw-away issuer are the only ones it takes. Resolves when it is ready. What it says
 * goes to stderr; if the bridge is killed, it ends by itself.
 */
export async function startOwnGateway(
  home: Home,
  slot: Slot,
  issuer: ThrowAwayIssuer,
  env: NodeJS.ProcessEnv,
): Promise<OwnGateway> {
  const endpoint = `http://127.0.0.1:${slot.port}/mcp`;
  const main = fileURLToPath(new URL('gateway-main.js', import.meta.url));
  const child = fork(main, [slot.home.dir, home.bin], {
    env: await environment(env, endpoint, slot, issuer),
    stdio: ['ignore', 2, 2, 'ipc'],
    // A Ctrl-C in the terminal is ours to pass on.
    detached: true,
  });
  const gone = new Promise<number>((resolve) => {
    child.once('exit', (code) => resolve(code ?? EXIT.failed));
    child.once('error', () => resolve(EXIT.failed));
  });
  const ready = new Promise<'ready'>((resolve) => child.once('message', () => resolve('ready')));
  const first = await Promise.race([ready, gone]);
  if (first !== 'ready')
    throw new CliError(`the gateway ended before it was ready; its logs: ${slot.home.logs}`, first || EXIT.failed);
  return {
    endpoint,
    gone,
    async stop() {
      child.kill('SIGTERM');
      await gone;
    },
  };
}

async function environment(
  env: NodeJS.ProcessEnv,
  endpoint: string,
  { home, port }: Slot,
  issuer: ThrowAwayIssuer,
): Promise<NodeJS.ProcessEnv> {
  const passed = Object.entries(env).filter(([name]) => !/^(BRIDGE_|OAUTH_INTROSPECT_)/.test(name));
  const free = async (name: string) => env[name] || String(await freePort());
  return {
    ...Object.fromEntries(passed),
    NODE_COMPILE_CACHE: home.compiled,
    CORTEX_HOME: home.dir,
    PORT: String(port),
    // Those of a Cortex that runs beside it are taken.
    WEBHOOK_PORT: await free('WEBHOOK_PORT'),
    CORTEX_CLIENT_PORT: await free('CORTEX_CLIENT_PORT'),
    OAUTH_ISSUER: issuer.url,
    OAUTH_JWKS_URL: issuer.jwksUrl,
    OAUTH_AUDIENCE: endpoint,
    CORTEX_CANONICAL_URI: endpoint,
  };
}
