import {
  type CortexError,
  invalidArgument,
  isCortexError,
  notFound,
  permissionDenied,
  unavailable,
} from '@cortex/contracts';
import type { EdgeTool } from '../../catalog/edge-tool.js';
import { isObject } from '../../mcp/envelope.js';
import type { WorkspaceView } from '../../guard/views.js';
import type { CallerContext, SessionClaims } from '../../seams.js';
import type { CallContext, GateResult, Refusal } from '../call-context.js';
import type { GateWorld } from '../gates.js';
import { denied, failed } from '../refusals.js';

/** Identity fields that a session's claims fill in, and win over what was sent. */
const INJECTED = ['workspace_id', 'agent_id', 'space_id', 'conversation_id', 'run_id'] as const;

const MAX_KEY = 256;
const badKey = (): CortexError =>
  invalidArgument(
    '_meta["cortex/idempotencyKey"]',
    `is no text of 1 to ${MAX_KEY} characters`,
    'send another key, or none',
  );

/** Fills in who calls, checks the rest against the tool's own schema, then the workspace and the caller's place in it. */
export function argumentsGate(ctx: CallContext, world: GateWorld): GateResult {
  const { tool, input } = ctx;
  if (tool === undefined) return undefined;
  const given = input.args ?? {};
  if (!isObject(given))
    return denied(invalidArgument('arguments', 'is no object', 'send an object, {} when there are none'));
  const key = input.meta.idempotency_key;
  if (key !== undefined && (key === '' || key.length > MAX_KEY)) return denied(badKey());
  const { session } = input.caller;
  ctx.args = session === undefined ? given : withIdentity(given, tool, session);
  if (ctx.args !== given) ctx.args_json = JSON.stringify(ctx.args);
  // An agent is where its token or its run says: whoever names a space or an agent must not get its mode, its rules and its dial.
  ctx.space_id =
    session === undefined ? textOf(ctx.args, tool, 'space_id') : (session.space_id ?? session.conversation_id);
  ctx.agent_id = session?.agent_id;

  const workspace = tool.announced.workspace === 'none' ? null : (textOf(ctx.args, tool, 'workspace_id') ?? null);
  if (workspace === null && tool.announced.workspace === 'required')
    return denied(
      invalidArgument('workspace_id', 'is missing', 'see list_workspaces', { reason: 'workspace_required' }),
    );
  const fault = argumentFault(tool, ctx.args);
  if (fault !== undefined) return denied(fault);
  ctx.workspace = workspace ?? session?.workspace ?? null;
  // What a session does in its workspace without naming it (arm a waitpoint, ask for costs) is done there all the same.
  const within = tool.block === 'builtin' ? workspace : ctx.workspace;
  return within === null ? undefined : workspaceGate(ctx, world, within);
}

function withIdentity(args: Record<string, unknown>, tool: EdgeTool, session: SessionClaims): Record<string, unknown> {
  const { workspace, agent_id, space_id, conversation_id, run_id } = session;
  const claims: Record<(typeof INJECTED)[number], string | undefined> = {
    workspace_id: workspace,
    agent_id,
    space_id,
    conversation_id,
    run_id,
  };
  const filled = INJECTED.filter((name) => claims[name] !== undefined && tool.fields.has(name));
  return filled.length === 0 ? args : { ...args, ...Object.fromEntries(filled.map((name) => [name, claims[name]])) };
}

function argumentFault(tool: EdgeTool, args: Record<string, unknown>): CortexError | undefined {
  try {
    tool.arguments.check(args);
    return undefined;
  } catch (error) {
    if (isCortexError(error)) return error;
    throw error;
  }
}

/** That the workspace exists and the caller belongs to it is checked here, once; a service trusts the request. */
function workspaceGate(ctx: CallContext, world: GateWorld, workspace: string): GateResult {
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

export const viewsBehind = (): Refusal =>
  failed(
    unavailable(
      undefined,
      'the rules that decide on this call are not up to date and nothing was changed',
      'try again in a moment',
    ),
  );

const textOf = (args: Record<string, unknown>, tool: EdgeTool, name: string): string | undefined => {
  if (!tool.fields.has(name)) return undefined;
  const value = args[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};
