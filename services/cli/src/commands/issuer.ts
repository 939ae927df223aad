import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { asProvisioner } from '../admin.js';
import { messageOf } from '../exit.js';
import { homeOf, openHome, writePrivate } from '../home.js';
import { tell } from '../output.js';
import { readSecrets } from '../secrets.js';
import { audienceOf, ownerSub } from '../token.js';
import { ensureDefaultWorkspace } from '../up/default-workspace.js';
import { startIssuer } from '../up/issuer.js';
import { assertRunning } from '../up/state.js';

const AGAIN_MS = 2_000;

interface Flags {
  home?: string;
  host?: string;
  keysUnder?: string;
}

/**
 * `cortex issuer`: the development issuer by itself, for an installation whose services run elsewhere. As `up` does, it makes the
 * workspace `default` with its owner in it, once the services are there.
 */
export async function issuer(flags: Flags): Promise<void> {
  const home = homeOf(flags.home);
  openHome(home);
  const state = assertRunning(home);
  const secrets = readSecrets(home);
  const stop = new AbortController();
  const owner = ownerSub(process.env);
  const running = await startIssuer({
    port: state.ports.issuer,
    host: flags.host,
    keysUnder: flags.keysUnder,
    key: secrets.issuer,
    file: home.logins,
    canonicalUri: state.canonical_uri,
    audience: audienceOf(state.canonical_uri, process.env),
    owner,
    env: process.env,
    tell,
  });
  writePrivate(home.loginCode, `${running.loginCode}\n`);
  tell(`logs in at ${running.url} whoever knows the code ${running.loginCode}`);
  const stopped = Promise.race(['SIGTERM', 'SIGINT'].map((signal) => once(process, signal)));
  const workspace = untilDone(stop.signal, () =>
    asProvisioner(state.nats_url, secrets, ({ ask }) =>
      ensureDefaultWorkspace(ask, { issuer: running.url, sub: owner }),
    ),
  );
  await stopped;
  stop.abort();
  await Promise.all([workspace, running.close()]);
}

/** Said once why it does not work yet: the services come up beside us. */
async function untilDone(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  for (let told = false; !signal.aborted;) {
    try {
      return await work();
    } catch (error) {
      if (!told) tell(`workspace default is not made yet: ${messageOf(error)}`);
      told = true;
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
