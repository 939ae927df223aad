import { notFound, permissionDenied, type CortexError } from '@cortex/contracts';
import type { GateViews, WorkspaceView } from '../../guard/views.js';
import type { CallerContext } from '../../seams.js';
import type { CallContext, GateResult, Refusal } from '../call-context.js';
import type { GateWorld } from '../gates.js';
import { denied } from '../refusals.js';
import { namedWorkspace, rulesBehind, viewsBehind } from './arguments.gate.js';

/** That the workspace exists and the caller belongs to it is checked here, once; a service trusts the request. */
export function workspaceGate(ctx: CallContext, world: GateWorld): GateResult {
  const { tool } = ctx;
  if (tool === undefined) return undefined;
  // What a session does in its workspace without naming it (arm a waitpoint, ask for costs) is done there all the same.
  const workspace = tool.block === 'builtin' ? namedWorkspace(ctx.args, tool) : ctx.workspace;
  if (workspace === null) return undefined;
  const fresh = world.views.fresh();
  return fresh === true
    ? membership(ctx, world, workspace)
    : fresh.then((ok) => (ok ? membership(ctx, world, workspace) : viewsBehind()));
}

function membership(ctx: CallContext, { views }: GateWorld, workspace: string): Refusal | undefined {
  const { caller } = ctx.input;
  const known = views.workspace(workspace);
  if (known === undefined)
    return denied(
      notFound('workspace_id', `"${workspace.slice(0, 64)}" is no workspace`, 'name one that list_workspaces shows', {
        reason: 'workspace_not_found',
      }),
    );
  if (!belongs(caller, workspace, known.members)) return denied(notAMember(caller, workspace));
  if (ctx.agent_id !== undefined) ctx.space_id ??= views.activeRun(workspace, ctx.agent_id)?.space_id ?? undefined;
  return undefined;
}

/**
 * That a session may still act in its workspace, for what it does there by no tool call. Errors: permission_denied not_a_member,
 * unavailable.
 */
export async function assertAtHome(
  caller: CallerContext,
  views: Pick<GateViews, 'fresh' | 'workspace'>,
): Promise<void> {
  const workspace = caller.session?.workspace;
  if (workspace === undefined) return;
  if (!(await views.fresh())) throw rulesBehind();
  const members = views.workspace(workspace)?.members;
  if (members === undefined || !belongs(caller, workspace, members)) throw notAMember(caller, workspace);
}

function notAMember({ session }: CallerContext, workspace: string): CortexError {
  const why = { reason: 'not_a_member' } as const;
  if (session?.workspace === workspace)
    return permissionDenied(
      undefined,
      `whoever this session belongs to is no member of ${workspace} any more`,
      'ask an admin of it to add them again',
      why,
    );
  const fix = session === undefined ? 'ask an admin of it to add you' : 'use that of this session';
  return permissionDenied('workspace_id', 'is a workspace that you do not belong to', fix, why);
}

/**
 * A person by membership. An agent by the workspace of its session, and only as long as the person behind it belongs there too: whoever is
 * taken out of a workspace must not stay in it by a session.
 */
function belongs(caller: CallerContext, workspace: string, members: WorkspaceView['members']): boolean {
  if (caller.session === undefined) return members.has(caller.principal.id);
  return caller.session.workspace === workspace && (caller.person_id === null || members.has(caller.person_id));
}
