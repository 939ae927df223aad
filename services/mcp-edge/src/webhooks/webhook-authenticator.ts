import { callerKey, expandScopes, type ScopeImplications } from '@cortex/auth';
import { notFound, permissionDenied, SCOPES, unavailable } from '@cortex/contracts';
import { frozenCaller, OPERATOR } from '../auth/caller.js';
import { sameSecret } from '../auth/same-secret.js';
import { type SessionViews, standingOf } from '../auth/session-door.js';
import type { SessionView } from '../guard/views.js';
import type { Authenticator, CallerContext, HttpRefusal, SessionClaims } from '../seams.js';

/** Whoever holds the server's own secret, or the agent of one session. */
export type Requester = 'system' | CallerContext;

export interface WebhookAuthenticatorOptions {
  /** The server's own secret; without one nobody is `system`. */
  secret: string | undefined;
  scopeImplies: ScopeImplications;
  authenticator: Pick<Authenticator, 'authenticateSession'>;
  views: SessionViews;
}

const SYSTEM = 'system';
const MAX_KEPT = 1_000;

/** Tells who asks at the loopback listener, and in whose place. */
export class WebhookAuthenticator {
  readonly #system: CallerContext;
  /** One object per session, so that caches keyed by its identity hold. */
  readonly #inSession = new Map<string, { facts: SessionView; caller: CallerContext }>();

  constructor(private readonly options: WebhookAuthenticatorOptions) {
    this.#system = this.#everywhere({});
  }

  identify(token: string): Requester | HttpRefusal | Promise<Requester | HttpRefusal> {
    const { secret, authenticator } = this.options;
    if (secret !== undefined && sameSecret(token, secret)) return SYSTEM;
    return authenticator.authenticateSession(token);
  }

  /**
   * The caller of a request that names a session. A session's token opens that session alone; the server's secret opens any that is open,
   * with the rights of that session and no more. Errors: permission_denied, not_found, unavailable (sessionId).
   */
  async inSession(requester: Requester, sessionId: string): Promise<CallerContext> {
    if (requester !== SYSTEM) return ownSession(requester, sessionId);
    const standing = await standingOf(this.options.views, { sid: sessionId });
    if (standing === 'view_behind')
      throw unavailable('sessionId', 'cannot be looked up just now and nothing was changed', 'try again in a moment');
    const facts = this.options.views.session(sessionId);
    if (facts === undefined) throw notFound('sessionId', 'names no open session', 'open one with cortex session open');
    const known = this.#inSession.get(sessionId);
    if (known?.facts === facts) return known.caller;
    const caller = this.#systemIn(sessionId, facts);
    this.#inSession.set(sessionId, { facts, caller });
    const [oldest] = this.#inSession.keys();
    if (this.#inSession.size > MAX_KEPT && oldest !== undefined) this.#inSession.delete(oldest);
    return caller;
  }

  /** The same about a session that need not be open any more. Errors: permission_denied (sessionId). */
  about(requester: Requester, sessionId: string): CallerContext {
    return requester === SYSTEM ? this.#everywhere({ session_id: sessionId }) : ownSession(requester, sessionId);
  }

  /** The caller of a request that names none. */
  alone(requester: Requester): CallerContext {
    return requester === SYSTEM ? this.#system : requester;
  }

  #systemIn(sid: string, facts: SessionView): CallerContext {
    const { workspace, agent_id, person_id, project, channel, mode, parent_session_id, allowlist, kind, groups } =
      facts;
    const session: SessionClaims = {
      sid,
      kind,
      groups: new Set(groups),
      project,
      channel,
      ...(allowlist !== null && { allowlist: new Set(allowlist) }),
      ...(parent_session_id !== null && { parent: parent_session_id }),
      ...(workspace !== null && { workspace }),
      ...(agent_id !== null && { agent_id }),
      ...(mode !== null && { mode }),
    };
    const scope = {
      session_id: sid,
      project,
      channel,
      ...(agent_id !== null && { agent_id }),
      ...(person_id !== null && { user_id: person_id }),
    };
    return frozenCaller({
      ...NOBODY,
      // The limit and the keys of the session count for whoever acts in it.
      caller_key: callerKey({ ...SELF, sid }),
      person_id,
      scopes: expandScopes(facts.scopes, this.options.scopeImplies),
      principal: { type: 'system', id: SYSTEM, roles: [] },
      scope,
      session,
    });
  }

  /** In no session's place, and so with all that there is. */
  #everywhere(scope: CallerContext['scope']): CallerContext {
    const scopes = expandScopes(Object.values(SCOPES), this.options.scopeImplies);
    const principal = { type: 'system' as const, id: SYSTEM, roles: [OPERATOR] };
    return frozenCaller({ ...NOBODY, caller_key: callerKey(SELF), person_id: null, scopes, principal, scope });
  }
}

function ownSession(agent: CallerContext, sessionId: string): CallerContext {
  if (sessionId === agent.session?.sid) return agent;
  throw permissionDenied('sessionId', 'is another session than that of the token', 'use the token of that session', {
    reason: 'forbidden',
  });
}

/** No issuer has an empty name, so a key made of it is nobody else's. */
const SELF = { issuer: '', sub: SYSTEM, client_id: 'webhook' } as const;
const NOBODY = {
  ...SELF,
  kind: 'system',
  email: '',
  name: '',
  pool: '',
  role: '',
  audience: '',
  jti: null,
  exp: Infinity,
  dev_bypass: false,
} as const;
