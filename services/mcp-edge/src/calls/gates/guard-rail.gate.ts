import { failedPrecondition, permissionDenied } from '@cortex/contracts';
import type { Confirmation } from '../../guard/confirmation.js';
import { facetsOf } from '../../guard/facets.js';
import { recordedSource, resolveGuard, type Verdict } from '../../guard/resolver.js';
import type { CallContext, GateResult, Refusal } from '../call-context.js';
import type { GateWorld } from '../gates.js';
import { denied } from '../refusals.js';
import { viewsBehind } from './arguments.gate.js';

const ALLOW_BY_RULE = 'let an admin of the workspace allow it by a guard rule: cortex workspace rule set';
export const NOBODY = 'call it where somebody can be asked';

/** Action classes, command rules, managed rules and the dial; what prompts is asked in one question. */
export function guardRailGate(ctx: CallContext, world: GateWorld): GateResult {
  const announced = ctx.tool?.announced;
  if (announced === undefined || (announced.actions.length === 0 && !announced.approval)) return undefined;
  const fresh = world.views.fresh();
  return fresh === true ? decide(ctx, world) : fresh.then((ok) => (ok ? decide(ctx, world) : viewsBehind()));
}

function decide(ctx: CallContext, world: GateWorld): GateResult {
  const { tool, workspace, agent_id, space_id } = ctx;
  if (tool === undefined) return undefined;
  const { views } = world;
  const facets = facetsOf(tool.name, ctx.args);
  const verdict = resolveGuard(
    { tool: tool.name, classes: tool.announced.actions, approval: tool.announced.approval, facets },
    {
      mode: ctx.mode ?? 'chat',
      workspace,
      agent_id,
      space_id,
      rules: workspace === null ? [] : views.rules(workspace),
      managed: views.managed,
      autonomy: workspace === null ? 'actWithApproval' : views.autonomy(workspace, agent_id, space_id),
      now: Date.now(),
    },
  );
  ctx.decision = verdict.decision;
  ctx.source = recordedSource(verdict);
  if (verdict.decision === 'allow') return undefined;
  if (verdict.decision === 'deny' && !verdict.soft) return denied(deniedByPolicy(tool.name, verdict));
  const question = {
    id: ctx.call_id,
    workspace_id: workspace,
    conversation_id: space_id,
    tool: tool.name,
    about: facets.command === undefined ? ('tool' as const) : ('command' as const),
    severity: verdict.classes.includes('fileDelete') ? ('destructive' as const) : ('warning' as const),
    classes: verdict.classes,
    ...(facets.command !== undefined && { command: facets.command }),
    override: verdict.soft,
  };
  return world.confirmation.ask(question).then((answer) => settle(ctx, answer, tool.name, verdict));
}

function settle(ctx: CallContext, answer: Confirmation, tool: string, verdict: Verdict): Refusal | undefined {
  if (answer.outcome === 'approved') return approved(ctx, answer);
  // Nobody who may override: the rule stands.
  if (verdict.soft && answer.outcome === 'unavailable') return denied(deniedByPolicy(tool, verdict));
  const about = verdict.classes.join(', ') || 'this call';
  return refusedBy(answer, tool, about, ctx.workspace === null ? NOBODY : ALLOW_BY_RULE);
}

export function approved(ctx: CallContext, answer: Extract<Confirmation, { outcome: 'approved' }>): undefined {
  ctx.approval = { via: 'human', id: answer.id, decided_by: answer.by };
  ctx.approved_by = answer.by;
  ctx.remembered_rule = answer.remembered;
}

/** A no, or nobody there to say yes. */
export function refusedBy(
  answer: Exclude<Confirmation, { outcome: 'approved' }>,
  tool: string,
  about: string,
  fix: string,
): Refusal {
  if (answer.outcome === 'denied')
    return denied(
      permissionDenied(undefined, `${tool} was not approved`, 'do without it, or explain and ask again', {
        reason: 'approval_denied',
      }),
    );
  return denied(
    failedPrecondition(
      undefined,
      `${tool} has to be approved by a person (${about}) and nobody is there to answer`,
      fix,
      { reason: 'approval_unavailable' },
    ),
  );
}

function deniedByPolicy(tool: string, verdict: Verdict) {
  const about = verdict.classes.length > 0 ? ` for ${verdict.classes.join(', ')}` : '';
  const fix =
    verdict.source === 'dial:proposeOnly'
      ? 'propose it to a person instead'
      : verdict.source.startsWith('preset:')
        ? 'leave the mode first'
        : verdict.source.startsWith('managed:')
          ? 'ask who runs Cortex to change the managed policy'
          : 'ask an admin of the workspace to change the rule';
  const problem = `${tool} is denied by the guard rail${about} (${verdict.source})`;
  return permissionDenied(undefined, problem, fix, { reason: 'denied_by_policy' });
}
