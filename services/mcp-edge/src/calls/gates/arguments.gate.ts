import { type CortexError, invalidArgument, isCortexError, unavailable } from '@cortex/contracts';
import { isObject } from '@cortex/contracts/is-object';
import type { EdgeTool } from '../../catalog/edge-tool.js';
import type { SessionClaims } from '../../seams.js';
import type { CallContext, Refusal } from '../call-context.js';
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

/** Fills in who calls and where, and checks the rest against the tool's own schema. */
export function argumentsGate(ctx: CallContext): Refusal | undefined {
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

  ctx.workspace = session?.workspace ?? null;
  const workspace = namedWorkspace(ctx.args, tool);
  if (workspace === null && tool.announced.workspace === 'required')
    return denied(
      invalidArgument('workspace_id', 'is missing', 'see list_workspaces', { reason: 'workspace_required' }),
    );
  const fault = argumentFault(tool, ctx.args);
  if (fault !== undefined) return denied(fault);
  // A name is believed to be one only when it has been checked.
  ctx.workspace = workspace ?? ctx.workspace;
  return undefined;
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

export const viewsBehind = (): Refusal => failed(rulesBehind());

export const rulesBehind = (): CortexError =>
  unavailable(
    undefined,
    'the rules that decide on this call are not up to date and nothing was changed',
    'try again in a moment',
  );

/** That of the arguments; null where the tool takes none or none was given. */
export const namedWorkspace = (args: Record<string, unknown>, tool: EdgeTool): string | null =>
  tool.announced.workspace === 'none' ? null : (textOf(args, tool, 'workspace_id') ?? null);

const textOf = (args: Record<string, unknown>, tool: EdgeTool, name: string): string | undefined => {
  if (!tool.fields.has(name)) return undefined;
  const value = args[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};
