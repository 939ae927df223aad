import { callerHash, callerKey, expandScopes, type ScopeImplications } from '@cortex/auth';
import { notFound, permissionDenied, type Principal, SCOPES } from '@cortex/contracts';
import type { SessionEvent } from '@cortex/contracts/session';
import { sameSecret } from '../auth/same-secret.js';
import type { Authenticator, CallerContext, HttpRefusal, SessionClaims } from '../seams.js';

/** What the log says of an open session. */
export type SessionFacts = Extract<SessionEvent, { type: 'SessionStarted' }>['data'] & { workspace: string | null };

/** Whoever holds the server's own secret, or the agent of one session. */
export type Speaker = 'system' | CallerContext;

export interface SpeakersOptions {
  /** The server's own secret; without one nobody is `system`. */
  secret: string | undefined;
  scopeImplies: ScopeImplications;
  authenticator: Pick<Authenticator, 'authenticateSession'>;
  /** Open sessions alone. */
  session: (sid: string) => SessionFacts | undefined;
}

const SYSTEM = 'system';
const MAX_KEPT = 1_000;

/** Who speaks at the loopback listener, and in whose place. */
export class Speakers {
  readonly #everything: ReadonlySet<string>;
  readonly #system: CallerContext;
  /** One object per session, so that caches keyed by its identity hold. */
  readonly #inSession = new Map<string, { facts: SessionFacts; caller: CallerContext }>();

  constructor(private readonly options: SpeakersOptions) {
    this.#everything = expandScopes(Object.values(SCOPES), options.scopeImplies);
    this.#system = this.#caller({ key: callerKey(SELF), scopes: this.#everything, roles: ['operator'], scope: {} });
  }

  identify(token: string): Speaker | HttpRefusal | Promise<Speaker | HttpRefusal> {
    const { secret, authenticator } = this.options;
    if (secret !== undefined && sameSecret(token, secret)) return SYSTEM;
    return authenticator.authenticateSession(token);
  }

  /**
   * The caller of a request that names this session, or none. A session's token opens that session alone; the server's secret opens any that
   * is open, with the rights of that session and no more.
   */
  callerOf(speaker: Speaker, sessionId: string | undefined): CallerContext {
    if (speaker !== SYSTEM) {
      if (sessionId === undefined || sessionId === speaker.session?.sid) return speaker;
      throw permissionDenied(
        'sessionId',
        'is another session than that of the token',
        'use the token of that session',
        {
          reason: 'forbidden',
        },
      );
    }
    if (sessionId === undefined) return this.#system;
    const facts = this.options.session(sessionId);
    if (facts === undefined) throw notFound('sessionId', 'names no open session', 'open one with cortex session open');
    const known = this.#inSession.get(sessionId);
    if (known?.facts === facts) return known.caller;
    const caller = this.#systemIn(sessionId, facts);
    this.#inSession.set(sessionId, { facts, caller });
    const [oldest] = this.#inSession.keys();
    if (this.#inSession.size > MAX_KEPT && oldest !== undefined) this.#inSession.delete(oldest);
    return caller;
  }

  /** The system, about a session that need not be open any more; a session's token again opens that session alone. */
  about(speaker: Speaker, sessionId: string): CallerContext {
    if (speaker !== SYSTEM) return this.callerOf(speaker, sessionId);
    const { scopes } = this.#system;
    return this.#caller({ key: callerKey(SELF), scopes, roles: ['operator'], scope: { session_id: sessionId } });
  }

  #systemIn(sid: string, facts: SessionFacts): CallerContext {
    const { workspace, agent_id, project, channel, mode, parent_session_id, allowlist, kind, groups } = facts;
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
    const scope = { session_id: sid, project, channel, ...(agent_id !== null && { agent_id }) };
    // The limit and the keys of the session count for whoever acts in it.
    const key = callerKey({ ...SELF, sid });
    return this.#caller({
      key,
      scopes: expandScopes(facts.scopes, this.options.scopeImplies),
      roles: [],
      scope,
      session,
    });
  }

  #caller(given: {
    key: string;
    scopes: ReadonlySet<string>;
    roles: string[];
    scope: CallerContext['scope'];
    session?: SessionClaims;
  }): CallerContext {
    const { key, scopes, roles, scope, session } = given;
    const principal: Principal = { type: 'system', id: SYSTEM, roles };
    return Object.freeze({
      ...SELF,
      caller_key: key,
      caller_hash: callerHash(key),
      kind: 'system',
      person_id: null,
      scopes,
      scopes_key: [...scopes].sort().join(' '),
      email: '',
      name: '',
      pool: '',
      role: '',
      audience: '',
      jti: null,
      exp: Infinity,
      dev_bypass: false,
      principal: Object.freeze(principal),
      principal_json: JSON.stringify(principal),
      scope: Object.freeze(scope),
      scope_json: JSON.stringify(scope),
      ...(session !== undefined && { session }),
    });
  }
}

/** No issuer has an empty name, so this key is nobody else's. */
const SELF = { issuer: '', sub: SYSTEM, client_id: 'webhook' } as const;
