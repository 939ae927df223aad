import { expandScopes, type AuthReason, refuse, type AuthRefusal, isRefusal } from '@cortex/auth';
import { invalidArgument, type Mode, notFound } from '@cortex/contracts';
import { sessionIssuer } from '@cortex/contracts/session';
import { agentCaller, NOBODY, personCaller } from '../auth/caller.js';
import type { People } from '../auth/people.js';
import { held, type SessionViews, standingOf } from '../auth/session-door.js';
import type { GateViews } from '../guard/views.js';
import type { Authenticator, CallerContext } from '../seams.js';
import type { Settings } from '../settings.js';
import type { StepSource } from './explain.js';

/** Whom a question is about: exactly one of the first four. */
export interface Who {
  /** A refused one too. */
  readonly token?: string | undefined;
  /** As it was started; what one of its tokens leaves out is not known. */
  readonly session?: string | undefined;
  /** In its newest open session. */
  readonly agent?: string | undefined;
  /** A `per_` id, or a `sub` at the issuer of people; with the scopes of the last token. */
  readonly person?: string | undefined;
  /** Instead of those that are known. */
  readonly scopes?: readonly string[] | undefined;
  /** Of a session or agent: the conversation that the call would be made in, and its mode where the log shows none. */
  readonly space?: string | undefined;
  readonly mode?: Mode | undefined;
}

/** What the edge knows of callers. */
export interface WhoWorld {
  readonly settings: Settings;
  readonly authenticator: Pick<Authenticator, 'examine'>;
  readonly people: Pick<People, 'find' | 'behind' | 'rightsOf'>;
  readonly views: SessionViews & Pick<GateViews, 'sessionOfAgent'>;
}

/** A caller, and what the gate `authenticate` says of it where no token was given. */
export interface Known {
  readonly caller: CallerContext;
  readonly instead?: { readonly why: string; readonly source: StepSource };
}

const NO_TOKEN = { jti: null, exp: Number.POSITIVE_INFINITY };

/**
 * The caller that a real call would have, by the same makers. Rejects with `not_found` for a person, agent or session that nobody knows,
 * `invalid_argument` for a question that is about nobody or two, `unavailable` while people cannot be looked up.
 */
export async function whoIs(who: Who, world: WhoWorld): Promise<Known | AuthRefusal> {
  const named = [who.token, who.session, who.agent, who.person].filter((one) => one !== undefined);
  if (named.length !== 1)
    throw invalidArgument('caller', `names ${named.length} callers`, 'give one of token, session, agent and person');
  if (who.token !== undefined) {
    if (who.scopes !== undefined || who.space !== undefined || who.mode !== undefined)
      throw invalidArgument(
        'scopes, space and mode',
        'stand in a token',
        'leave them out, or name a session or person',
      );
    const caller = await world.authenticator.examine(who.token);
    return isRefusal(caller) ? caller : { caller };
  }
  if (who.person !== undefined) return thePerson(who, who.person, world);
  const sid = who.session ?? world.views.sessionOfAgent(who.agent ?? '');
  if (sid === undefined)
    throw notFound('agent', `${JSON.stringify(who.agent)} has no open session`, 'see cortex session list');
  return theSession(who, sid, world);
}

async function thePerson(
  { scopes: given, space, mode }: Who,
  name: string,
  { settings, people }: WhoWorld,
): Promise<Known> {
  if (space !== undefined || mode !== undefined)
    throw invalidArgument('space and mode', 'are of an agent', 'give a person the space in the arguments');
  const id = name.startsWith('per_') ? name : await people.find({ issuer: settings.OAUTH_ISSUER, sub: name });
  const [rights, behind] = id === undefined ? [] : await Promise.all([people.rightsOf(id), people.behind(id)]);
  if (id === undefined || rights === undefined || !behind)
    throw notFound('person', `${JSON.stringify(name)} never came here`, 'give a per_ id, or a sub of OAUTH_ISSUER');
  const scopes = expandScopes(given ?? rights.scopes, settings.CORTEX_SCOPE_IMPLIES);
  // Which pool a token would name is not known, and told where it is asked for.
  const said = { ...behind, client_id: '', pool: settings.CORTEX_REQUIRED_POOL ?? '', role: '', scopes, ...NO_TOKEN };
  const owner = behind.issuer === settings.OAUTH_ISSUER && behind.sub === settings.CORTEX_OWNER_SUB;
  const seen = rights.last_seen_at === null ? 'who never came' : `as of ${rights.last_seen_at.toISOString()}`;
  const why = `no token was given: ${behind.sub} ${seen}, with ${given === undefined ? 'the scopes of the last token' : 'these scopes'}`;
  return {
    caller: personCaller({ ...said, audience: settings.audience }, id, 'person', owner),
    instead: { why, source: { kind: 'person', id } },
  };
}

async function theSession(
  { scopes: given, space, mode }: Who,
  sid: string,
  { settings, views, people }: WhoWorld,
): Promise<Known | AuthRefusal> {
  const standing = await standingOf(views, { sid });
  if (standing !== 'open') return refuse(standing satisfies AuthReason);
  const started = views.session(sid);
  if (started === undefined) return refuse('session_closed');
  const { person_id, groups, allowlist } = started;
  const said = { sub: person_id ?? NOBODY, sid, kind: started.kind, groups, ...(allowlist !== null && { allowlist }) };
  const claims = {
    ...held(said, started, undefined),
    ...(space !== undefined && { space_id: space }),
    ...(mode !== undefined && { mode }),
  };
  const limit = expandScopes(started.scopes);
  const scopes = given === undefined ? limit : new Set([...expandScopes(given)].filter((one) => limit.has(one)));
  const person = person_id === null ? null : await people.behind(person_id);
  const issuer = sessionIssuer(settings.canonicalUri);
  return {
    caller: agentCaller({ claims, scopes, person, issuer, audience: settings.canonicalUri, ...NO_TOKEN }),
    instead: {
      why: `no token was given: session ${sid} as it was started${given === undefined ? '' : ', with these of its scopes'}`,
      source: { kind: 'session', id: sid },
    },
  };
}
