import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { freePort, isPortFree } from '@cortex/embedded/ports';
import { RawClient } from '../oauth/browser.js';
import { type Home, homeOf } from '../home.js';
import { loginCode, readState } from '../up/state.js';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));
/** The public port and those of issuer, loopback listener and devices behind it. */
const PORTS = [0, 1, 2, 3];

export interface Gateway extends AsyncDisposable {
  readonly endpoint: string;
  readonly issuer: string;
  /** What stands in `aud` of its tokens. */
  readonly audience: string;
  /** A token by the authorization-code flow with PKCE, as a person's client gets one. */
  login(scope: string): Promise<string>;
}

/** A whole Cortex in a home of its own that is gone afterwards. */
export async function startGateway(env: Record<string, string>): Promise<Gateway> {
  const dir = await mkdtemp(join(tmpdir(), 'cortex-conformance-'));
  const home = homeOf(dir);
  const stop = async (): Promise<void> => {
    await cortex(home, ['down'], {});
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const port = await freeBase();
    const { code, told } = await cortex(home, ['up', '--detach', '--port', String(port)], env);
    const state = readState(home);
    if (code !== 0 || !state?.issuer) throw new Error(`cortex up ended with ${code}: ${told}`);
    const { endpoint, issuer, canonical_uri: audience } = state;
    return {
      endpoint,
      issuer,
      audience,
      async login(scope) {
        const client = await RawClient.make(issuer);
        const { status, body } = await client.exchange(
          await client.code(loginCode(home) ?? '', { scope, resource: audience }),
        );
        if (status !== 200) throw new Error(`no token: ${JSON.stringify(body)}`);
        return body.access_token;
      },
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function cortex(
  home: Home,
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number; told: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], CORTEX_HOME: home.dir, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [told, [code]] = await Promise.all([text(child.stderr), once(child, 'exit') as Promise<[number | null]>]);
  return { code: code ?? 1, told };
}

async function freeBase(): Promise<number> {
  for (;;) {
    const base = await freePort();
    const free = await Promise.all(PORTS.map((n) => isPortFree(base + n)));
    if (base < 65_000 && free.every(Boolean)) return base;
  }
}
