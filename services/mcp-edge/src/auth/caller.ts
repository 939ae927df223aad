import { callerHash, callerKey, type VerifiedToken } from '@cortex/auth';
import type { CallScope, Principal } from '@cortex/contracts';
import type { CallerContext } from '../seams.js';

type Said = Pick<VerifiedToken, 'issuer' | 'sub' | 'client_id' | 'email' | 'name' | 'pool' | 'role' | 'scopes'> & {
  jti: string | null;
  exp: number;
  audience: string;
};

/** All that gates, records and bus requests read of a person, worked out once per token. */
export function personCaller(said: Said, person_id: string, kind: 'person' | 'dev'): CallerContext {
  const key = callerKey(said);
  const principal: Principal = { type: 'user', id: person_id, roles: said.role === '' ? [] : [said.role] };
  const scope: CallScope = { user_id: person_id };
  return Object.freeze({
    caller_key: key,
    caller_hash: callerHash(key),
    kind,
    issuer: said.issuer,
    sub: said.sub,
    person_id,
    client_id: said.client_id,
    scopes: said.scopes,
    scopes_key: [...said.scopes].sort().join(' '),
    email: said.email,
    name: said.name,
    pool: said.pool,
    role: said.role,
    audience: said.audience,
    jti: said.jti,
    exp: said.exp,
    dev_bypass: kind === 'dev',
    principal: Object.freeze(principal),
    principal_json: JSON.stringify(principal),
    scope: Object.freeze(scope),
    scope_json: JSON.stringify(scope),
  });
}
