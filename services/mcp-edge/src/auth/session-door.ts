import { randomUUID } from 'node:crypto';
import {
  type AuthReason,
  type AuthRefusal,
  type CachedToken,
  claimedIssuer,
  expandScopes,
  isRefusal,
  JwksSource,
  refuse,
  TokenVerifier,
} from '@cortex/auth';
import { ask, type Bus } from '@cortex/bus';
import { subjects } from '@cortex/contracts';
import { sessionIssuer, SessionTokenClaims } from '@cortex/contracts/session';
import type { GateViews, RunView, SessionView } from '../guard/views.js';
import type { CallerContext } from '../seams.js';
import type { Settings } from '../settings.js';
import { agentCaller, NOBODY } from './caller.js';
import type { People } from './people.js';

/** What the edge knows of sessions, out of the log. */
export type SessionViews = Pick<GateViews, 'fresh' | 'sessionOpen' | 'session' | 'activeRun'>;

/** What a token names that must be open. */
type Named = Pick<SessionTokenClaims, 'sid' | 'run_id'>;

export interface SessionDoorOptions {
  settings: Settings;
  bus: Bus;
  views: SessionViews;
  people: People;
  /** Accepted `aud`: the canonical URI, by no other name. */
  audiences: readonly string[];
  log: (level: 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;
  onSkew?: () => void;
  onStaleKeys?: (stale: boolean) => void;
}

export type Standing = 'open' | Extract<AuthReason, 'session_closed' | 'view_behind'>;

const KEYS = subjects.query('session', 'jwks');
const ASK_MS = 5_000;
const WAIT_MS = 2_000;
const LOOK_MS = 20;

/**
 * Tokens of agent sessions: minted by the service `session`, told from an issuer's by `iss` alone, good only while this
 * edge's own view shows their session open. Source: gateway, section 10.10.
 */
export class SessionDoor {
  readonly keys: JwksSource;
  readonly #issuer: string;
  readonly #verifier: TokenVerifier;

  constructor(private readonly options: SessionDoorOptions) {
    const { settings, bus, audiences, log, onSkew, onStaleKeys } = options;
    this.#issuer = sessionIssuer(settings.canonicalUri);
    this.keys = new JwksSource({
      url: KEYS,
      load: () => keySet(bus),
      maxStaleSeconds: settings.OAUTH_JWKS_MAX_STALE_SECONDS,
      log,
      ...(onStaleKeys && { onStale: onStaleKeys }),
    });
    this.#verifier = new TokenVerifier({
      keys: this.keys,
      issuer: this.#issuer,
      audiences,
      algs: ['EdDSA'],
      kind: 'session',
      skewSeconds: settings.OAUTH_CLOCK_SKEW_SECONDS,
      ...(onSkew && { onSkew }),
    });
  }

  /** Whether a token says that it is a session's; whoever verifies it then believes nothing else of it before. */
  isFor(token: string): boolean {
    return claimedIssuer(token) === this.#issuer;
  }

  /** Throws `unavailable` where its person cannot be looked up. */
  async admit(token: string): Promise<(CachedToken & { caller: CallerContext }) | AuthRefusal> {
    const { views, people } = this.options;
    const verified = await this.#verifier.verify(token);
    if (isRefusal(verified)) return verified;
    const said = SessionTokenClaims.safeParse(verified.claims);
    if (!said.success) return refuse('malformed');
    const { sid, run_id } = said.data;
    const standing = await standingOf(views, { sid });
    if (standing !== 'open') return refuse(standing);
    const started = views.session(sid);
    if (started === undefined) return refuse('session_closed'); // it ended just now
    const run = run_id === undefined ? undefined : await runOf(views, started, run_id);
    if (run_id !== undefined && run === undefined) return refuse('session_closed');
    const claims = held(said.data, started, run);
    const limit = expandScopes(started.scopes);
    const scopes = new Set([...verified.scopes].filter((scope) => limit.has(scope)));
    const person = claims.sub === NOBODY ? null : await people.behind(claims.sub);
    const { kid, exp, jti, issuer, audiences } = verified;
    const audience = audiences.find((one) => this.options.audiences.includes(one)) ?? '';
    return { kid, exp, caller: agentCaller({ claims, scopes, person, issuer, audience, jti, exp }) };
  }

  /** Asked for every request. */
  standing(named: Named): Standing | Promise<Standing> {
    return standingOf(this.options.views, named);
  }
}

/** Whether a session, and the run in it where one is named, is open: without a promise where the view knows it. */
export function standingOf(views: SessionViews, { sid, run_id }: Named): Standing | Promise<Standing> {
  const inRun = (standing: Standing): Standing =>
    standing !== 'open' || run_id === undefined || isActive(views, views.session(sid), run_id)
      ? standing
      : 'session_closed';
  if (views.fresh() !== true) return waitFor(views, sid).then(inRun);
  const known = views.sessionOpen(sid);
  if (known === 'unknown') return waitFor(views, sid).then(inRun);
  return known === 'open' ? inRun('open') : 'session_closed';
}

/** What its agent is at work on, as the log shows it. */
const activeRun = (views: SessionViews, { workspace, agent_id }: SessionView): RunView | undefined =>
  workspace === null || agent_id === null ? undefined : views.activeRun(workspace, agent_id);

const isActive = (views: SessionViews, session: SessionView | undefined, run_id: string): boolean =>
  session !== undefined && activeRun(views, session)?.run_id === run_id;

/** The run that a token names; one that began this moment may not have come here yet. Undefined when it is not the active one. */
async function runOf(views: SessionViews, session: SessionView, run_id: string): Promise<RunView | undefined> {
  for (const until = performance.now() + WAIT_MS; ; await new Promise((resolve) => setTimeout(resolve, LOOK_MS))) {
    const run = activeRun(views, session);
    if (run?.run_id === run_id) return run;
    if (performance.now() >= until) return undefined;
  }
}

/** A session that was opened this moment may not have come here yet, and a view may be catching up. */
async function waitFor(views: SessionViews, sid: string): Promise<Standing> {
  const until = performance.now() + WAIT_MS;
  if (!(await views.fresh())) return 'view_behind';
  for (;;) {
    const known = views.sessionOpen(sid);
    if (known !== 'unknown') return known === 'open' ? 'open' : 'session_closed';
    if (performance.now() >= until) return 'session_closed';
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/**
 * What a token says, held to what stands in the log: it may say less than its session was started with, and whose session it
 * is, where and for whom is not its to say. So a signing key that leaks makes no session more than it is.
 */
export function held(claims: SessionTokenClaims, started: SessionView, run: RunView | undefined): SessionTokenClaims {
  const { workspace, person_id, kind, parent_session_id, agent_id, mode, project, channel } = started;
  const groups = claims.groups.filter((group) => started.groups.includes(group));
  const named = [claims.allowlist, started.allowlist ?? undefined].filter((list) => list !== undefined);
  const allowlist = named.reduce((some, list) => some.filter((name) => list.includes(name)), named[0] ?? []);
  const { sid, conversation_id } = claims;
  return {
    sub: person_id ?? NOBODY,
    sid,
    kind,
    groups,
    project,
    channel,
    ...(named.length > 0 && { allowlist }),
    ...(parent_session_id !== null && { parent: parent_session_id }),
    ...(workspace !== null && { workspace }),
    ...(agent_id !== null && { agent_id }),
    ...(mode !== null && { mode }),
    ...(run !== undefined && { run_id: run.run_id, conversation_id, space_id: run.space_id ?? undefined }),
  };
}

async function keySet(bus: Bus) {
  const { data } = await ask(bus, KEYS, {
    v: 1,
    call_id: randomUUID(),
    workspace_id: null,
    principal: { type: 'system', id: 'mcp-edge', roles: [] },
    scope: {},
    args: {},
    deadline_ms: ASK_MS,
  });
  return data as Awaited<ReturnType<NonNullable<ConstructorParameters<typeof JwksSource>[0]['load']>>>;
}
