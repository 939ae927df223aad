import { AUTH_REFUSALS, type AuthReason, isRefusal } from '@cortex/auth';
import { INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api';
import { beginCall, type CallContext, type Refusal } from '../calls/call-context.js';
import { missingBaseline } from '../calls/gates/baseline.gate.js';
import { approved } from '../calls/gates/guard-rail.gate.js';
import { isOfAnotherPool } from '../calls/gates/pool.gate.js';
import { GATES, type GateWorld } from '../calls/gates.js';
import { callId, randomHex16 } from '../calls/ids.js';
import type { Federation } from '../federation/federation.js';
import type { Shelf } from '../federation/shelf.js';
import type { Backend } from '../federation/types.js';
import type { ConfirmationRequest } from '../guard/confirmation.js';
import type { GateViews } from '../guard/views.js';
import type { RateLimiter } from '../ratelimit/rate-limiter.js';
import { type CallerContext, Cancellation, MODERN } from '../seams.js';
import type { Settings } from '../settings.js';
import { type Known, type Who, whoIs, type WhoWorld } from './who.js';
import { passed, sourceOf, whoCan } from './words.js';

/** One call that is asked about and not made. */
export interface ExplainQuestion extends Who {
  readonly tool: string;
  /** Undefined: which they would be is not known, and a gate that needs them says so. */
  readonly arguments?: Record<string, unknown> | undefined;
}

export type StepResult = 'pass' | 'refuse' | 'ask' | 'needs_arguments';

/** What decided, as far as it has a name: a rule, a scope, a mode, the health of a service. */
export interface StepSource {
  readonly kind: string;
  readonly id: string | null;
  /** Whoever wrote the rule. */
  readonly author?: string;
}

/** One gate on the way of the call. */
export interface ExplainStep {
  readonly gate: string;
  readonly result: StepResult;
  readonly why: string;
  readonly source: StepSource;
  /** What would change the answer, and who can do that: `per_` ids, or words where nobody is known by name. */
  readonly fix?: { readonly text: string; readonly who: readonly string[] };
}

export interface Explanation {
  /** As the catalogue names it; as it was asked where there is none. */
  readonly tool: string;
  readonly caller: {
    readonly kind: string;
    readonly id: string;
    readonly sub: string;
    readonly client_id: string;
    readonly session_id: string | null;
  } | null;
  /** Whether `tools/list` shows it to this caller. */
  readonly listed: boolean;
  /** `asks`: a person is asked first. Steps that need arguments count for nothing. */
  readonly callable: 'yes' | 'no' | 'asks';
  /** All gates in their order, those behind the first refusal too. */
  readonly steps: readonly ExplainStep[];
  readonly as_of: { readonly at: string; readonly catalog_version: number };
}

export interface ExplainWorld extends Omit<GateWorld, 'confirmation'>, WhoWorld {
  readonly settings: Settings;
  readonly federation: Pick<Federation, 'absentOwnerOf' | 'leftOut'>;
  readonly views: GateViews;
  readonly limiter: Pick<RateLimiter, 'left'>;
}

/** Gates whose answer depends on where the call is made, which the arguments of a person say. */
const PLACED = new Set(['workspace', 'mode', 'guard_rail', 'approval']);

/**
 * Why a caller can or cannot see and call a tool now: the gates of a real call, run one after the other without a dispatch, a question to a
 * person, a permit or a trace of the token. Rejects as `whoIs`. Source: gateway, section 3.4.
 */
export async function explain(question: ExplainQuestion, world: ExplainWorld): Promise<Explanation> {
  const { catalog } = world;
  const as_of = { at: new Date().toISOString(), catalog_version: catalog.version };
  const known = await whoIs(question, world);
  if (isRefusal(known)) {
    const steps = [tokenRefused(known.refused, world.settings)];
    return { tool: question.tool, caller: null, listed: false, callable: 'no', steps, as_of };
  }
  const { caller } = known;
  const door = await doorSteps(known, world);
  const { steps: inside, tool } = await gateSteps(question, caller, world);
  const steps = [...door, ...inside];
  const letIn = door.every(({ result }) => result !== 'refuse');
  const results = new Set(steps.map(({ result }) => result));
  return {
    tool: tool ?? question.tool.slice(0, 128),
    caller: {
      kind: caller.kind,
      id: caller.principal.id,
      sub: caller.sub,
      client_id: caller.client_id,
      session_id: caller.session?.sid ?? null,
    },
    listed: letIn && tool !== undefined && catalog.visible(caller).some(({ name }) => name === tool),
    callable: results.has('refuse') ? 'no' : results.has('ask') ? 'asks' : 'yes',
    steps,
    as_of,
  };
}

/** What helps against a refusal of a token that no new one from the same place would be spared. */
const tokenFixes = (settings: Settings): Partial<Record<AuthReason, { text: string; who: readonly string[] }>> => {
  const issuerAdmin = ['an admin of the issuer'];
  const operator = ['an operator'];
  return {
    audience: { text: `have the issuer write ${settings.audience} into aud`, who: issuerAdmin },
    issuer: { text: `get one from ${settings.OAUTH_ISSUER}, the only issuer here`, who: ['the caller'] },
    alg: {
      text: `allow its algorithm in OAUTH_ALLOWED_ALGS, now ${settings.OAUTH_ALLOWED_ALGS.join(' ')}`,
      who: operator,
    },
    unknown_key: { text: `see whether ${settings.jwksUrl} has the key of its kid (OAUTH_JWKS_URL)`, who: operator },
    no_keys: {
      text: `see whether ${settings.jwksUrl} can be reached from the edge (OAUTH_JWKS_URL), for a session whether the service session runs`,
      who: operator,
    },
    not_yet_valid: { text: 'set the clocks of issuer and server', who: operator },
    no_jti: { text: 'have the issuer write a jti, or set OAUTH_REQUIRE_JTI=false', who: issuerAdmin },
    introspection: {
      text: 'see whether the issuer can be reached, and the OAUTH_INTROSPECT_ variables',
      who: operator,
    },
    view_behind: { text: 'try again in a moment', who: ['the caller'] },
    session_closed: { text: 'open another session: cortex session open', who: ['the caller'] },
  };
};

const tokenRefused = (reason: AuthReason, settings: Settings): ExplainStep => ({
  gate: 'authenticate',
  result: 'refuse',
  why: AUTH_REFUSALS[reason],
  source: { kind: 'token', id: reason },
  fix: tokenFixes(settings)[reason] ?? {
    text: 'log in again, or get another token from the issuer',
    who: ['the caller'],
  },
});

/** Steps 5 to 8 of a request: the token, the permits, the pool, the baseline. */
async function doorSteps({ caller, instead }: Known, { settings, limiter }: ExplainWorld): Promise<ExplainStep[]> {
  const { issuer, audience, exp, kind } = caller;
  const until = Number.isFinite(exp) ? `, good until ${new Date(exp * 1000).toISOString()}` : '';
  const steps: ExplainStep[] = [
    {
      gate: 'authenticate',
      result: 'pass',
      why: `a token of ${kind === 'agent' ? 'an agent session, signed by this Cortex' : `a person from ${issuer}`} for ${audience}${until}`,
      source: { kind: 'token', id: kind === 'agent' ? (caller.session?.sid ?? null) : issuer },
      ...instead,
    },
  ];
  const left = await limiter.left(caller);
  const limit = settings.CORTEX_RATE_LIMIT_PER_MINUTE;
  steps.push({
    gate: 'rate_limit',
    result: left > 0 ? 'pass' : 'refuse',
    why: Number.isFinite(left) ? `${left} of ${limit} requests are left in this minute` : 'no limit applies',
    source: { kind: 'permits', id: Number.isFinite(left) ? String(left) : null },
    ...(left <= 0 && {
      fix: { text: 'wait for the next minute, or raise CORTEX_RATE_LIMIT_PER_MINUTE', who: ['an operator'] },
    }),
  });
  const pool = settings.CORTEX_REQUIRED_POOL;
  const foreign = isOfAnotherPool(caller, settings);
  steps.push({
    gate: 'pool',
    result: foreign ? 'refuse' : 'pass',
    why:
      pool === undefined || kind !== 'person'
        ? 'no pool is asked of it'
        : `this gateway takes tokens of the pool ${pool}, and this one is of ${caller.pool === '' ? 'none' : caller.pool}`,
    source: { kind: 'claim', id: 'pool' },
    ...(foreign && { fix: { text: `get a token with the claim pool=${pool}`, who: ['an admin of the issuer'] } }),
  });
  const missing = missingBaseline(caller, settings);
  steps.push({
    gate: 'baseline',
    result: missing.length > 0 ? 'refuse' : 'pass',
    why:
      missing.length > 0
        ? `every request here needs ${settings.OAUTH_REQUIRED_SCOPES.join(' ')}, and the token lacks ${missing.join(' ')}`
        : 'it has every scope that all requests need',
    source: { kind: 'scope', id: missing.join(' ') || null },
    ...(missing.length > 0 && {
      fix: { text: `get a token with ${missing.join(' ')}`, who: ['an admin of the issuer'] },
    }),
  });
  return steps;
}

/** The gates of a `tools/call`. What they ask a person is noted here instead. */
async function gateSteps(
  question: ExplainQuestion,
  caller: CallerContext,
  world: ExplainWorld,
): Promise<{ steps: ExplainStep[]; tool: string | undefined }> {
  const asked: ConfirmationRequest[] = [];
  const confirmation = {
    ask: (request: ConfirmationRequest) => {
      asked.push(request);
      return Promise.resolve({ outcome: 'unavailable' as const });
    },
  };
  const ctx = imagined(question, caller);
  const steps: ExplainStep[] = [];
  let unplaced = false;
  for (const [gate, run] of GATES) {
    if (unplaced && PLACED.has(gate)) {
      steps.push({
        gate,
        result: 'needs_arguments',
        why: 'it decides by where the call is made; give its arguments, workspace_id among them',
        source: { kind: 'arguments', id: null },
      });
      continue;
    }
    asked.length = 0;
    const refusal = await run(ctx, { ...world, confirmation });
    const { tool } = ctx;
    if (refusal === undefined) {
      steps.push({ gate, result: 'pass', ...passed(gate, ctx) });
      continue;
    }
    if (gate === 'arguments') unplaced = tool?.announced.workspace !== 'none' && ctx.workspace === null;
    steps.push(
      (tool === undefined ? nobodys(gate, question.tool, world) : undefined) ??
        refused(gate, refusal, ctx, world, { asks: asked[0], unknown: question.arguments === undefined }),
    );
    // Without a tool there is nothing that the gates behind could be asked about.
    if (tool === undefined) break;
    // Asked once for both: the approval gate does not ask again.
    if (asked.length > 0) approved(ctx, { outcome: 'approved', id: ctx.call_id, by: '' });
  }
  return { steps, tool: ctx.tool?.name };
}

/** Whoever asks here may know of every backend, also where the caller may not. */
function nobodys(gate: string, name: string, { federation }: ExplainWorld): ExplainStep | undefined {
  const owner = federation.absentOwnerOf(name);
  if (owner !== undefined) return away(gate, owner);
  const left = federation.leftOut(name);
  return left && leftOut(gate, left);
}

const leftOut = (gate: string, { backend: { id }, why }: { backend: Backend; why: string }): ExplainStep => ({
  gate,
  result: 'refuse',
  why: `backend ${id} declares it, and it is left out: it ${why}`,
  source: { kind: 'backend', id },
  fix: { text: 'have its declaration corrected; it is offered at the next refresh', who: [`whoever runs ${id}`] },
});

const away = (gate: string, { backend: { id }, awaySince, problem }: Shelf): ExplainStep => ({
  gate,
  result: 'refuse',
  why: `it is a name of backend ${id}, which is away since ${awaySince}: ${problem}`,
  source: { kind: 'backend', id },
  fix: { text: `have ${id} answer again; its tools come back by themselves`, who: ['an operator'] },
});

function refused(
  gate: string,
  { error, fix }: Refusal,
  ctx: CallContext,
  world: ExplainWorld,
  { asks, unknown }: { asks: ConfirmationRequest | undefined; unknown: boolean },
): ExplainStep {
  const told = error.message.endsWith(`; ${fix}`) ? error.message.slice(0, -`; ${fix}`.length) : error.message;
  const result: StepResult =
    asks !== undefined ? 'ask' : gate === 'arguments' && unknown ? 'needs_arguments' : 'refuse';
  return {
    gate,
    result,
    why: asks === undefined ? told : question(asks, told),
    source: sourceOf(gate, ctx, world.views),
    ...(fix !== '' && { fix: { text: fix, who: whoCan(gate, ctx, world.views) } }),
  };
}

/** A soft rule is told as the refusal that it is until somebody lifts it. */
function question({ classes, override }: ConfirmationRequest, told: string): string {
  if (override) return `${told}, unless a person who may override it says yes`;
  return classes.length === 0
    ? 'a person has to approve it, because the tool asks before it runs'
    : `a person has to approve it (${classes.join(', ')})`;
}

/** A call that nobody makes: no trace, no id that anybody else sees. */
const imagined = ({ tool, arguments: args }: ExplainQuestion, caller: CallerContext): CallContext => {
  const input = {
    caller,
    name: tool,
    args,
    era: 'modern',
    revision: MODERN,
    transport: 'http',
    meta: {},
    cancel: new Cancellation(),
  } as const;
  const traceId = randomHex16() + randomHex16();
  return beginCall(
    input,
    callId(),
    trace.wrapSpanContext(INVALID_SPAN_CONTEXT),
    traceId,
    `00-${traceId}-${randomHex16()}-00`,
  );
};
