import { expandScopes } from '@cortex/auth';
import { sessionIssuer, type SessionTokenClaims } from '@cortex/contracts/session';
import { CONFIG } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config.js';
import type { SessionStart } from '../session/session.decider.js';
import { SessionKeys } from './session-keys.js';

/** Seconds that a token of `session open` lives, and the most that may be asked for. */
export const TOKEN_TTL_S = 3_600;
export const TOKEN_TTL_MAX_S = 12 * 3_600;

export interface MintedToken {
  token: string;
  /** ISO 8601. */
  expires_at: string;
}

/** Makes the tokens by which an agent speaks as its session. All that a token says comes from the log. */
@Injectable()
export class SessionTokens {
  readonly #audience: string;

  constructor(
    @Inject(CONFIG) { CORTEX_CANONICAL_URI, PORT }: Config,
    private readonly keys: SessionKeys,
  ) {
    const uri = new URL(CORTEX_CANONICAL_URI ?? `http://127.0.0.1:${PORT}/mcp`);
    this.#audience = uri.href.replace(/\/$/, '');
  }

  mint(session: {
    session_id: string;
    workspace: string | null;
    start: SessionStart;
    /** ISO 8601; the token's seconds are whole. */
    now: string;
    ttl_s: number;
    jti: string;
  }): MintedToken {
    const { session_id, workspace, start, now, ttl_s, jti } = session;
    const iat = Math.floor(Date.parse(now) / 1000);
    const exp = iat + ttl_s;
    const said: SessionTokenClaims = {
      sub: start.person_id ?? 'system',
      sid: session_id,
      kind: start.kind,
      ...(start.parent_session_id !== null && { parent: start.parent_session_id }),
      groups: start.groups,
      ...(start.allowlist !== null && { allowlist: start.allowlist }),
      ...(workspace !== null && { workspace }),
      ...(start.agent_id !== null && { agent_id: start.agent_id }),
      ...(start.mode !== null && { mode: start.mode }),
      project: start.project,
      channel: start.channel,
    };
    const token = this.keys.sign({
      iss: sessionIssuer(this.#audience),
      aud: this.#audience,
      ...said,
      scope: [...expandScopes(start.scopes)].sort().join(' '),
      jti,
      iat,
      exp,
    });
    return { token, expires_at: new Date(exp * 1000).toISOString() };
  }
}
