import { notFound, unavailable } from '@cortex/contracts';
import { RPC } from '../../mcp/envelope.js';
import type { CallContext, Refusal } from '../call-context.js';
import type { GateWorld } from '../gates.js';
import { failed } from '../refusals.js';

const SHOWN_NAME = 128;
const FIND = 'find one with search_tool_bm25 or list_my_tools';

/** Bare names and names with a client's prefix; an unknown one is answered with near names and where to look. */
export function resolveToolGate(ctx: CallContext, { catalog }: GateWorld): Refusal | undefined {
  const { name, caller } = ctx.input;
  const tool = catalog.find(name);
  if (tool === undefined) return unknownTool(name, catalog.near(name, caller));
  ctx.tool = tool;
  ctx.classes = tool.announced.actions;
  if (tool.live) return undefined;
  const problem = `${tool.name} cannot run now, its service ${tool.service} is away and nothing was changed`;
  return failed(unavailable(undefined, problem, 'try again in a moment'));
}

function unknownTool(name: string, near: readonly string[]): Refusal {
  const shown = name.length > SHOWN_NAME ? `${name.slice(0, SHOWN_NAME)}…` : name;
  const close = near.length > 0 ? ` Close names: ${near.join(', ')}.` : '';
  const message = `Unknown tool: ${shown}.${close} Find tools with search_tool_bm25 or list_my_tools.`;
  return {
    error: notFound('name', 'is no tool', FIND).toWire(),
    fix: FIND,
    outcome: 'denied',
    rpc: { code: RPC.invalidParams, message, status: 200 },
  };
}
