import { callerHash, callerKey, type VerifiedToken } from '@cortex/auth';
import { type CallScope, SCOPES } from '@cortex/contracts';
import type { SessionTokenClaims } from '@cortex/contracts/session';
import type { CallerContext, SessionClaims } from '../seams.js';

type Said = Pick<VerifiedToken, 'issuer' | 'sub' | 'client_id' | 'email' | 'name' | 'pool' | 'role' | 'scopes'> & {
  jti: string | null;
  exp: number;
  audience: string;
};

/** Sees and does what belongs to everybody (architecture, section 9). Made here alone: an issuer's role of that name is not it. */
export const OPERATOR = 'operator';

/** `sub` of a session that belongs to no person. */
export const NOBODY = 'system';

type Worked = 'caller_hash' | 'scopes_key' | 'principal_json' | 'scope_json';

/** All that gates, records and bus requests read of a caller, worked out once per token. */
export function frozenCaller(known: Omit<CallerContext, Worked>): CallerContext {
  const { caller_key, scopes, principal, scope } = known;
  return Object.freeze({
    ...known,
    caller_hash: callerHash(caller_key),
    scopes_key: [...scopes].sort().join(' '),
    principal: Object.freeze(principal),
    principal_json: JSON.stringify(principal),
    scope: Object.freeze(scope),
    scope_json: JSON.stringify(scope),
  });
}

/** `owner`: whoever the installation belongs to. */
export function personCaller(said: Said, person_id: string, kind: 'person' | 'dev', owner = false): CallerContext {
  const { issuer, sub, client_id, email, name, pool, role, audience, jti, exp, scopes } = said;
  const roles = role === '' || role === OPERATOR ? [] : [role];
  if (owner || scopes.has(SCOPES.admin)) roles.push(OPERATOR);
  return frozenCaller({
    caller_key: callerKey(said),
    kind,
    issuer,
    sub,
    person_id,
    client_id,
    scopes,
    email,
    name,
    pool,
    role,
    audience,
    jti,
    exp,
    dev_bypass: kind === 'dev',
    principal: { type: 'user', id: person_id, roles },
    scope: { user_id: person_id },
  });
}

/** Who stands behind a session, as the people's table has it. */
export interface PersonBehind {
  issuer: string;
  sub: string;
  name: string;
  email: string;
}

export interface AgentSaid {
  claims: SessionTokenClaims;
  /** Of the token, but never more than its session was started with. */
  scopes: ReadonlySet<string>;
  /** Null where it belongs to nobody, or to somebody who was erased. */
  person: PersonBehind | null;
  /** That of the token, for when there is no person. */
  issuer: string;
  audience: string;
  jti: string | null;
  exp: number;
}

/** An agent speaks for its session and is never a person: it can settle no interaction and is never operator. */
export function agentCaller(said: AgentSaid): CallerContext {
  const { claims, scopes, person, audience, jti, exp } = said;
  const { sid, agent_id, run_id, space_id, conversation_id, project, channel } = claims;
  const person_id = claims.sub === NOBODY ? null : claims.sub;
  const { issuer, sub, name, email } = person ?? { issuer: said.issuer, sub: claims.sub, name: '', email: '' };
  const scope: CallScope = {
    session_id: sid,
    ...defined({ agent_id, run_id, space_id, conversation_id, project, channel }),
    ...(person_id !== null && { user_id: person_id }),
  };
  return frozenCaller({
    caller_key: callerKey({ issuer, sub, client_id: '', sid }),
    kind: 'agent',
    issuer,
    sub,
    person_id,
    client_id: '',
    scopes,
    email,
    name,
    pool: '',
    role: '',
    audience,
    jti,
    exp,
    session: sessionOf(claims),
    dev_bypass: false,
    principal: { type: 'agent', id: agent_id ?? sid, roles: [] },
    scope,
  });
}

function sessionOf(claims: SessionTokenClaims): SessionClaims {
  const { sid, kind, groups, allowlist, sub: _, ...rest } = claims;
  return Object.freeze({
    sid,
    kind,
    groups: new Set(groups),
    ...(allowlist !== undefined && { allowlist: new Set(allowlist) }),
    ...defined(rest),
  });
}

const defined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
