import { notFound, unavailable } from '@cortex/contracts';
import { OPERATOR } from '../../auth/caller.js';
import { holdsScopeOf } from '../../federation/reach.js';
import type { Shelf } from '../../federation/shelf.js';
import { RPC } from '../../mcp/envelope.js';
import type { CallerContext } from '../../seams.js';
import type { CallContext, Refusal } from '../call-context.js';
import type { GateWorld } from '../gates.js';
import { failed } from '../refusals.js';

const SHOWN_NAME = 128;
/** "Unknown" is final for a caller, so it is said only by an edge that knows what there is. */
const STARTING = unavailable(
  undefined,
  'the tools are not all known yet, this process has just started',
  'try again in a moment',
);
const FIND = 'find one with search_tool_bm25 or list_my_tools';

/**
 * Bare names and names with a client's prefix; an unknown one is answered with near names and where to look, a name of a backend that is
 * away with that, for whoever may know of it.
 */
export function resolveToolGate(ctx: CallContext, { catalog, federation }: GateWorld): Refusal | undefined {
  const { name, caller } = ctx.input;
  const tool = catalog.find(name);
  if (tool === undefined) {
    if (!catalog.complete) return failed(STARTING);
    const owner = federation.absentOwnerOf(name);
    if (owner !== undefined && mayKnow(owner, caller)) return awayTool(name, owner);
    return unknownTool(name, catalog.near(name, caller));
  }
  ctx.tool = tool;
  ctx.classes = tool.announced.actions;
  if (tool.live) return undefined;
  const problem = `${tool.name} cannot run now, its service ${tool.service} is away and nothing was changed`;
  return failed(unavailable(undefined, problem, 'try again in a moment'));
}

/** A backend of which a caller holds no scope is none of its business, there or away. */
const mayKnow = ({ backend }: Shelf, caller: CallerContext): boolean =>
  holdsScopeOf(backend, caller) || caller.principal.roles.includes(OPERATOR);

const AWAY_FIX = 'try again later; an operator sees with cortex status what is wrong there';

function awayTool(name: string, { backend, awaySince }: Shelf): Refusal {
  const whose = `is a name of backend ${backend.id}, which is away since ${awaySince}`;
  return refusal(`is no tool now: it ${whose}`, AWAY_FIX, `Unknown tool: ${shown(name)}. It ${whose}: ${AWAY_FIX}.`);
}

function unknownTool(name: string, near: readonly string[]): Refusal {
  const close = near.length > 0 ? ` Close names: ${near.join(', ')}.` : '';
  return refusal(
    'is no tool',
    FIND,
    `Unknown tool: ${shown(name)}.${close} Find tools with search_tool_bm25 or list_my_tools.`,
  );
}

const shown = (name: string): string => (name.length > SHOWN_NAME ? `${name.slice(0, SHOWN_NAME)}…` : name);

const refusal = (problem: string, fix: string, message: string): Refusal => ({
  error: notFound('name', problem, fix).toWire(),
  fix,
  outcome: 'denied',
  rpc: { code: RPC.invalidParams, message, status: 200 },
});
