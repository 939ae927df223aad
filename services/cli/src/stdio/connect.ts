import { transportVerdict } from '@cortex/contracts/transport-policy';
import { isOn } from '@cortex/service-kit/flag';
import { CliError, EXIT } from '../exit.js';
import { bearerFlag } from '../flags.js';
import type { Home } from '../home.js';
import { tell } from '../output.js';
import { makeToken, parseScopes } from '../token.js';
import { assertRunning } from '../up/state.js';
import { startOwnGateway } from './own-gateway.js';
import { takeSlot } from './slot.js';
import { renewing, throwAwayIssuer, TOKEN_S } from './tokens.js';

export interface StdioFlags {
  home?: string;
  /** Of the Cortex that runs in the home. */
  running?: boolean;
  /** Of a Cortex elsewhere. */
  url?: string;
  scopes?: string;
}

/** The gateway that a bridge speaks to. */
export interface Connected {
  url: URL;
  token: () => string;
  /** Exit code of a gateway that ended; never settles for one that is not ours. */
  gone: Promise<number>;
  close(): Promise<void>;
}

const NOT_OURS = { gone: new Promise<never>(() => undefined), close: () => Promise.resolve() };

/** One elsewhere where an address is given, that of the home where it is asked for, else one of our own. */
export async function connect(home: Home, flags: StdioFlags, env: NodeJS.ProcessEnv): Promise<Connected> {
  const scopes = flags.scopes ?? env['BRIDGE_SCOPES'];
  const address = flags.url ?? (flags.running ? undefined : env['BRIDGE_URL']);
  if (flags.running && flags.url !== undefined)
    throw new CliError('--running and --url are two gateways; give one of them', EXIT.usage);
  if (address) return { ...NOT_OURS, ...elsewhere(flags.url === undefined ? 'BRIDGE_URL' : '--url', address, env) };
  if (flags.running) {
    const { endpoint } = assertRunning(home);
    const token = renewing(() => makeToken(home, env, { scopes: scopes || undefined, ttlSeconds: TOKEN_S }));
    // What keeps a token from being made is to be told now, not at the first call.
    token();
    return { ...NOT_OURS, url: new URL(endpoint), token };
  }
  return ownGateway(home, scopes ? parseScopes(scopes) : [], env);
}

function elsewhere(name: string, address: string, env: NodeJS.ProcessEnv): Pick<Connected, 'url' | 'token'> {
  const verdict = transportVerdict(address, isOn(env['CORTEX_ALLOW_INSECURE_BACKENDS']));
  if (!verdict.allowed) throw new CliError(`${name} ${verdict.problem}`, EXIT.usage);
  if (verdict.plaintext === 'remote') tell(`${name} is http to another machine: the token travels in the clear`);
  const token = bearerFlag(env['BRIDGE_TOKEN'], 'BRIDGE_TOKEN');
  if (!token) throw new CliError(`BRIDGE_TOKEN is missing; set it to a token for ${verdict.url.origin}`, EXIT.usage);
  return { url: verdict.url, token: () => token };
}

async function ownGateway(home: Home, scopes: readonly string[], env: NodeJS.ProcessEnv): Promise<Connected> {
  await using made = new AsyncDisposableStack();
  const slot = made.use(await takeSlot(home, env));
  const issuer = made.use(await throwAwayIssuer());
  const gateway = await startOwnGateway(home, slot, issuer, env);
  made.defer(() => gateway.stop());
  const rest = made.move();
  return {
    url: new URL(gateway.endpoint),
    token: issuer.tokenFor(gateway.endpoint, scopes),
    gone: gateway.gone,
    close: () => rest.disposeAsync(),
  };
}
