import {
  ACTION_CLASS_DEFAULTS,
  type ActionClass,
  type Autonomy,
  type GuardRule,
  type Mode,
  MODE_RULES,
} from '@cortex/contracts';
import { splitCommand, startsWithWords } from './commands.js';
import { constraintFits, type Facets } from './facets.js';
import { isExempt, isPinned } from './modes.js';

/** One call as the guard rail judges it. */
export interface GuardCall {
  tool: string;
  classes: readonly ActionClass[];
  /** Asks before it runs, so the dial reaches it even without classes. */
  approval: boolean;
  facets: Facets;
}

/** What the views know about where the call is made. */
export interface GuardSituation {
  mode: Mode;
  workspace: string | null;
  agent_id?: string | undefined;
  space_id?: string | undefined;
  /** Rules of the workspace, of all its scopes. */
  rules: readonly GuardRule[];
  /** Install-wide; they can only tighten. */
  managed: readonly GuardRule[];
  autonomy: Autonomy;
  /** Milliseconds since 1970. */
  now: number;
}

export interface Verdict {
  decision: 'allow' | 'prompt' | 'deny';
  /** What decided: `rule:<id>`, `managed:<id>`, `preset:<mode>`, `built-in`, `pinned`, `dial:<value>`. */
  source: string;
  /** The classes that ask or refuse; for the question and the record. */
  classes: readonly ActionClass[];
  /** A deny that a member with `guardrail.override` may lift with a written reason. */
  soft: boolean;
  /** Rules that would have denied and are only advisory: recorded. */
  advisory: readonly string[];
}

/** What decided, as the record of the call has it: advisory rules that decided nothing stand behind it. */
export const recordedSource = ({ source, advisory }: Verdict): string =>
  advisory.length === 0
    ? source
    : [source, ...new Set(advisory.filter((rule) => rule !== source).map((rule) => `advisory:${rule}`))].join(' ');

const enum Rank {
  allow,
  advisory,
  prompt,
  soft,
  hard,
}

interface Opinion {
  rank: Rank;
  source: string;
  action_class?: ActionClass;
}

const BUILT_IN = 'built-in';

/** Pure and deterministic. Source: workspace-tools-2, section 2.3, rules 1 to 8. */
export function resolveGuard(call: GuardCall, situation: GuardSituation): Verdict {
  const { mode, autonomy } = situation;
  if (isPinned(call.tool, mode)) return verdict('allow', 'pinned');
  const gated = call.classes.length > 0 || call.approval;
  if (gated && autonomy === 'proposeOnly') return verdict('deny', 'dial:proposeOnly', call.classes);

  const opinions = call.classes.map((action_class) => classOpinion(action_class, call, situation));
  if (call.facets.command !== undefined) opinions.push(...commandOpinions(call.facets.command, call, situation));

  // Of those that say the same, a rule is told rather than that there was none.
  const stricter = (a: Opinion, b: Opinion): boolean => b.rank > a.rank || (b.rank === a.rank && a.source === BUILT_IN);
  const strictest = opinions.reduce<Opinion>((a, b) => (stricter(a, b) ? b : a), {
    rank: Rank.allow,
    source: BUILT_IN,
  });
  const advisory = opinions.filter((o) => o.rank === Rank.advisory).map((o) => o.source);
  const concerned = opinions.filter((o) => o.rank === strictest.rank).flatMap((o) => o.action_class ?? []);
  switch (strictest.rank) {
    case Rank.hard:
    case Rank.soft:
      return { ...verdict('deny', strictest.source, concerned), soft: strictest.rank === Rank.soft, advisory };
    case Rank.prompt:
      if (autonomy === 'actFreely') return { ...verdict('allow', 'dial:actFreely'), advisory };
      return { ...verdict('prompt', strictest.source, concerned), advisory };
    case Rank.advisory:
    case Rank.allow:
      return { ...verdict('allow', strictest.source), advisory };
  }
}

const verdict = (decision: Verdict['decision'], source: string, classes: readonly ActionClass[] = []): Verdict => ({
  decision,
  source,
  classes,
  soft: false,
  advisory: [],
});

function classOpinion(action_class: ActionClass, call: GuardCall, situation: GuardSituation): Opinion {
  const about = (rule: GuardRule): boolean => rule.action_class === action_class;
  const ruled = walkScopes(situation, (rules) => strictestOf(rules.filter(about), call, situation.now));
  const opinion = ruled ?? presetOrDefault(action_class, call.tool, situation.mode);
  const managed = strictestOf(situation.managed.filter(about), call, situation.now);
  return { ...(managed !== undefined && managed.rank > opinion.rank ? managed : opinion), action_class };
}

function presetOrDefault(action_class: ActionClass, tool: string, mode: Mode): Opinion {
  if (MODE_RULES[mode].denied_classes.includes(action_class) && !isExempt(tool, mode))
    return { rank: Rank.hard, source: `preset:${mode}` };
  return { rank: ACTION_CLASS_DEFAULTS[action_class] === 'prompt' ? Rank.prompt : Rank.allow, source: BUILT_IN };
}

/** space → agent → workspace: the first scope with a match decides. */
function walkScopes(
  situation: GuardSituation,
  match: (rules: readonly GuardRule[]) => Opinion | undefined,
): Opinion | undefined {
  // Outside a workspace there are none, and most calls of backends are made there.
  if (situation.rules.length === 0) return undefined;
  const scopes: [GuardRule['scope_type'], string | null | undefined][] = [
    ['space', situation.space_id],
    ['agent', situation.agent_id],
    ['workspace', situation.workspace],
  ];
  for (const [type, id] of scopes) {
    if (id === null || id === undefined) continue;
    const found = match(situation.rules.filter((rule) => rule.scope_type === type && rule.scope_id === id));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** In one scope: a constrained rule beats an unconstrained one, equals resolve most restrictive. */
function strictestOf(rules: readonly GuardRule[], call: GuardCall, now: number): Opinion | undefined {
  if (rules.length === 0) return undefined;
  const matching = rules.filter((rule) => isAlive(rule, now) && ruleFits(rule, call));
  const constrained = matching.filter((rule) => rule.constraint !== undefined);
  return strictest(constrained.length > 0 ? constrained : matching);
}

const strictest = (rules: readonly GuardRule[]): Opinion | undefined => {
  const opinions = rules.map(opinionOf);
  return opinions.length === 0 ? undefined : opinions.reduce((a, b) => (b.rank > a.rank ? b : a));
};

const isAlive = (rule: GuardRule, now: number): boolean =>
  rule.expires_at === undefined || Date.parse(rule.expires_at) > now;

const ruleFits = (rule: GuardRule, call: GuardCall): boolean =>
  rule.constraint === undefined || constraintFits(rule.constraint, call.tool, call.facets, rule.decision === 'allow');

function opinionOf(rule: GuardRule): Opinion {
  const source = `${rule.scope_type === 'managed' ? 'managed' : 'rule'}:${rule.id}`;
  if (rule.decision === 'allow') return { rank: Rank.allow, source };
  if (rule.decision === 'prompt') return { rank: Rank.prompt, source };
  return { rank: { advisory: Rank.advisory, soft: Rank.soft, hard: Rank.hard }[rule.enforcement], source };
}

/** Every part of the command is judged for itself, so that a longer rule for one cannot hide a shorter one for another. */
function commandOpinions(command: string, call: GuardCall, situation: GuardSituation): Opinion[] {
  const { parts, plain } = splitCommand(command);
  return parts.flatMap((part) => {
    const match = (rules: readonly GuardRule[]): Opinion | undefined => {
      const fitting = rules.filter(
        (rule) =>
          rule.command_prefix !== undefined &&
          (rule.decision !== 'allow' || plain) &&
          isAlive(rule, situation.now) &&
          startsWithWords(part, rule.command_prefix) &&
          ruleFits(rule, call),
      );
      const longest = Math.max(...fitting.map((rule) => rule.command_prefix?.length ?? 0));
      return strictest(fitting.filter((rule) => rule.command_prefix?.length === longest));
    };
    const ruled = walkScopes(situation, match);
    const managed = match(situation.managed);
    return [ruled, managed].filter((opinion) => opinion !== undefined);
  });
}
