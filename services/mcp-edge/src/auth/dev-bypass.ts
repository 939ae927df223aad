import type { IncomingMessage } from 'node:http';
import { expandScopes } from '@cortex/auth';
import { isLoopbackPeer } from '../http/client-ip.js';
import { hostName } from '../http/host.js';
import type { CallerContext } from '../seams.js';
import { isLoopback, type Settings } from '../settings.js';
import { withBearer } from './bearer.js';
import { personCaller } from './caller.js';
import type { People } from './people.js';
import { sameSecret } from './same-secret.js';

/**
 * The caller of a request with the development token in `X-Dev-Mode`, or null. Only outside production, from this machine,
 * by a loopback name and past no proxy. Source: gateway, section 10.9.
 */
export function devBypass(settings: Settings, people: People) {
  const token = settings.CORTEX_DEV_BYPASS_TOKEN;
  if (token === undefined || token === '' || settings.production) return () => null;
  const said = {
    issuer: 'dev',
    sub: 'dev:local',
    client_id: 'dev-bypass',
    email: 'dev@localhost',
    name: '',
    pool: settings.CORTEX_REQUIRED_POOL ?? '',
    role: settings.CORTEX_DEV_BYPASS_ROLE,
    scopes: expandScopes(settings.CORTEX_DEV_BYPASS_SCOPES, settings.CORTEX_SCOPE_IMPLIES),
    jti: null,
    exp: Infinity,
    audience: settings.audience,
  };
  let caller: CallerContext | undefined;
  const callerOf = (id: string): CallerContext =>
    caller?.person_id === id ? caller : (caller = withBearer(personCaller(said, id, 'dev'), token));

  return (req: IncomingMessage): CallerContext | Promise<CallerContext> | null => {
    const given = req.headers['x-dev-mode'];
    if (typeof given !== 'string' || !sameSecret(given, token)) return null;
    const here = isLoopback(hostName(req.headers.host) ?? '') && isLoopbackPeer(req);
    if (!here || req.headers['x-forwarded-for'] !== undefined) return null;
    const id = people.idOf(said);
    return typeof id === 'string' ? callerOf(id) : id.then(callerOf);
  };
}
