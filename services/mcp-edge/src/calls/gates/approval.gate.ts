import { isPinned } from '../../guard/modes.js';
import type { CallContext, GateResult } from '../call-context.js';
import type { GateWorld } from '../gates.js';
import { approved, NOBODY, refusedBy } from './guard-rail.gate.js';

const LET_PASS = 'let an admin of the workspace have such tools pass: cortex workspace mode <workspace> write';

/** The tools that ask before they run. What the guard rail has asked already is not asked again. Source: workspace-tools-2, section 2.4. */
export function approvalGate(ctx: CallContext, world: GateWorld): GateResult {
  const { tool, workspace } = ctx;
  if (tool === undefined || !tool.announced.approval || ctx.approval?.via === 'human') return undefined;
  if (isPinned(tool.name, ctx.mode ?? 'chat')) {
    ctx.approval = { via: 'mode' };
    return undefined;
  }
  const mode = workspace === null ? undefined : world.views.approvalMode(workspace);
  if (mode === 'write' || mode === 'yolo') {
    ctx.approval = { via: 'mode' };
    return undefined;
  }
  const dial = workspace === null ? undefined : world.views.autonomy(workspace, ctx.agent_id, ctx.space_id);
  if (dial === 'actFreely') {
    ctx.approval = { via: 'dial' };
    return undefined;
  }
  const question = {
    id: ctx.call_id,
    workspace_id: workspace,
    conversation_id: ctx.space_id,
    tool: tool.name,
    about: 'tool' as const,
    severity: 'info' as const,
    classes: tool.announced.actions,
    override: false,
  };
  ctx.decision = 'prompt';
  ctx.source = 'approval_mode:always-ask';
  return world.confirmation
    .ask(question)
    .then((answer) =>
      answer.outcome === 'approved'
        ? approved(ctx, answer)
        : refusedBy(answer, tool.name, 'it asks before it runs', workspace === null ? NOBODY : LET_PASS),
    );
}
