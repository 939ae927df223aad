import type { Reason } from '@cortex/contracts';
import { wantsPerson } from '../federation/reach.js';
import type { CallerContext } from '../seams.js';
import type { EdgeTool } from './edge-tool.js';

/** Why a caller's session leaves a tool out. Source: agent-server, section 2; gateway, section 10.10. */
export interface CompositionRefusal {
  kind: 'permission_denied' | 'failed_precondition';
  reason: Reason;
  problem: string;
  fix: string;
}

export const hasScopes = (tool: Pick<EdgeTool, 'required_scopes'>, caller: CallerContext): boolean =>
  tool.required_scopes.every((scope) => caller.scopes.has(scope));

/** Session composition and allow-list: what the verified claims leave in, whatever a child process asks for. */
export function compositionRefusal(tool: EdgeTool, caller: CallerContext): CompositionRefusal | undefined {
  if (tool.block === 'builtin') return undefined;
  const { session } = caller;
  if (session === undefined) {
    if (!tool.announced.session) return undefined;
    return {
      kind: 'failed_precondition',
      reason: 'no_session',
      problem: `${tool.name} needs an agent session`,
      fix: 'open one with cortex session open and use its token',
    };
  }
  const refused = (problem: string, fix: string): CompositionRefusal => ({
    kind: 'permission_denied',
    reason: 'refused_by_composition',
    problem: `${tool.name} ${problem}`,
    fix,
  });
  if (tool.block === 'agent' && !session.groups.has(tool.announced.group ?? ''))
    return refused(
      `is in the group ${tool.announced.group}, which this session was started without`,
      'use the tools that are listed',
    );
  if (tool.federated !== undefined && wantsPerson(tool.federated.backend, caller))
    return refused('wants the token of a person, which a session does not hold', 'let a person call it');
  if (tool.block === 'workspace' && session.workspace === undefined)
    return refused(
      'belongs to a workspace, and this session has none',
      'use a session that was opened for a workspace',
    );
  if (session.allowlist !== undefined && !namesOf(tool).some((name) => session.allowlist?.has(name)))
    return refused('is not on the allow-list of this session', 'use the tools that are listed');
  return undefined;
}

/** What a list of names may call it: its name, and of a federated one also the backend with the name there, which no prefix changes. */
const namesOf = ({ name, federated }: EdgeTool): string[] =>
  federated === undefined ? [name] : [name, `${federated.backend.id}/${federated.original}`];

export const isVisible = (tool: EdgeTool, caller: CallerContext): boolean =>
  tool.federated?.held === undefined && hasScopes(tool, caller) && compositionRefusal(tool, caller) === undefined;

/** Two callers with equal keys see the same tools. */
export function visibilityKey(caller: CallerContext): string {
  const { session } = caller;
  if (session === undefined) return caller.scopes_key;
  const names = (set: ReadonlySet<string> | undefined): string => (set === undefined ? '*' : [...set].sort().join(' '));
  return `${caller.scopes_key}|${names(session.groups)}|${session.workspace === undefined ? '' : 'w'}|${names(session.allowlist)}`;
}
