import { type Mode, permissionDenied } from '@cortex/contracts';
import { foreignTicket, restrictionOf } from '../../guard/modes.js';
import type { GateViews } from '../../guard/views.js';
import type { CallerContext } from '../../seams.js';
import type { CallContext, GateResult, Refusal } from '../call-context.js';
import type { GateWorld } from '../gates.js';
import { denied } from '../refusals.js';
import { viewsBehind } from './arguments.gate.js';

/**
 * The mode of the conversation in which the call is made, as the log shows it: of the space, else of the agent's active run; the token's own
 * claim only while the log shows none. Leaving an id out leads to the same place.
 */
export function modeOf(
  views: GateViews,
  caller: CallerContext,
  where: { workspace: string | null; space_id?: string | undefined; agent_id?: string | undefined },
): Mode | undefined {
  const { workspace, space_id, agent_id } = where;
  if (workspace !== null) {
    const shown = space_id === undefined ? undefined : views.spaceMode(workspace, space_id);
    if (shown !== undefined) return shown;
    const run = agent_id === undefined ? undefined : views.activeRun(workspace, agent_id);
    const ofRun = run === undefined || run.space_id === null ? undefined : views.spaceMode(workspace, run.space_id);
    if (ofRun !== undefined) return ofRun;
  }
  return caller.session?.mode;
}

export function modeGate(ctx: CallContext, world: GateWorld): GateResult {
  // Without a session, a space and a workspace there is no conversation that could have a mode.
  if (ctx.input.caller.session === undefined && ctx.workspace === null) return undefined;
  const fresh = world.views.fresh();
  return fresh === true ? decide(ctx, world) : fresh.then((ok) => (ok ? decide(ctx, world) : viewsBehind()));
}

function decide(ctx: CallContext, { views }: GateWorld): Refusal | undefined {
  const { tool, workspace, agent_id } = ctx;
  if (tool === undefined) return undefined;
  ctx.mode = modeOf(views, ctx.input.caller, ctx);
  if (ctx.mode === undefined) return undefined;
  const run = workspace === null || agent_id === undefined ? undefined : views.activeRun(workspace, agent_id);
  const { name, announced } = tool;
  const modal = { name, builtin: announced.builtin, group: announced.group, federated: tool.federated !== undefined };
  const restriction =
    restrictionOf(modal, ctx.mode) ?? foreignTicket(name, ctx.mode, ctx.args, run?.ticket_id ?? undefined);
  if (restriction === undefined) return undefined;
  return denied(permissionDenied(undefined, restriction.problem, restriction.fix, { reason: 'refused_by_mode' }));
}
