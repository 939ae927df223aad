import type { CallContext } from '../calls/call-context.js';
import type { GateViews } from '../guard/views.js';
import type { ExplainStep, StepSource } from './explain.js';

/** What a gate found that let a call pass. The gate has left it in the context; nothing is decided here. */
export function passed(gate: string, ctx: CallContext): Pick<ExplainStep, 'why' | 'source'> {
  const { tool, mode, workspace, decision, approval, input } = ctx;
  const { caller } = input;
  const by = (kind: string, id: string | null, why: string) => ({ why, source: { kind, id } });
  if (tool === undefined) return by('catalog', null, 'there is no such tool');
  switch (gate) {
    case 'resolve_tool':
      return tool.federated === undefined
        ? by('service', tool.service, `a tool of ${tool.service}, which is up`)
        : by(
            'backend',
            tool.federated.backend.id,
            `${tool.federated.original} of the backend ${tool.federated.backend.id}, which is up`,
          );
    case 'scope':
      return tool.required_scopes.length === 0
        ? by('scope', null, 'it needs no scope')
        : by('scope', tool.required_scopes.join(' '), `the token has ${tool.required_scopes.join(' ')}`);
    case 'composition':
      return caller.session === undefined
        ? by('composition', null, 'it needs no agent session')
        : by('composition', caller.session.sid, `the session ${caller.session.sid} was started with it`);
    case 'quarantine':
      return by(
        'quarantine',
        null,
        tool.federated === undefined ? 'own tools are not reviewed' : 'its definition is the approved one',
      );
    case 'arguments':
      return by(
        'arguments',
        null,
        tool.federated === undefined
          ? 'they fit its schema'
          : 'a call has those of a backend checked, a question does not',
      );
    case 'workspace':
      return workspace === null
        ? by('workspace', null, 'it is called in no workspace')
        : by('workspace', workspace, `the caller belongs to ${workspace}`);
    case 'mode':
      return mode === undefined
        ? by('mode', null, 'it is called in no conversation that has a mode')
        : by('mode', mode, `${mode} mode lets it pass`);
    case 'guard_rail':
      return decision === undefined
        ? by('built_in', null, 'it does nothing that is guarded')
        : { why: `allowed (${ctx.source})`, source: guardSource(ctx) };
    case 'approval':
      if (!tool.announced.approval) return by('approval', null, 'it does not ask before it runs');
      return approval?.via === 'human'
        ? by('approval', 'human', 'the question of the guard rail stands for it')
        : by(
            'approval',
            approval?.via ?? null,
            approval?.via === 'dial' ? 'the dial of the agent lets it pass' : 'the mode lets it pass',
          );
    default:
      return by(gate, null, 'it passes');
  }
}

/** What refused, or asks. */
export function sourceOf(gate: string, ctx: CallContext, views: GateViews): StepSource {
  const { tool, input, workspace } = ctx;
  switch (gate) {
    case 'resolve_tool':
      return tool === undefined ? { kind: 'catalog', id: null } : { kind: 'health', id: tool.service };
    case 'scope':
      return {
        kind: 'scope',
        id: tool?.required_scopes.filter((one) => !input.caller.scopes.has(one)).join(' ') ?? null,
      };
    case 'composition':
      return { kind: 'composition', id: input.caller.session?.sid ?? null };
    case 'quarantine':
      return { kind: 'quarantine', id: tool?.federated?.held?.why ?? null };
    case 'workspace':
      return { kind: 'workspace', id: workspace };
    case 'mode':
      return { kind: 'mode', id: ctx.mode ?? null };
    case 'guard_rail':
      return guardSource(ctx, views);
    case 'approval':
      return { kind: 'approval_mode', id: workspace === null ? null : views.approvalMode(workspace) };
    default:
      return { kind: gate, id: null };
  }
}

const GUARDS: Readonly<Record<string, string>> = {
  rule: 'guard_rule',
  managed: 'managed_rule',
  preset: 'mode',
  dial: 'autonomy',
  pinned: 'mode',
};

/** Of the resolver's own word for what decided, such as `rule:<id>`. */
function guardSource({ source = 'built-in', workspace }: CallContext, views?: GateViews): StepSource {
  const [word = '', ...rest] = source.split(':');
  const id = rest.length === 0 ? null : rest.join(':');
  const rule = word === 'rule' && workspace !== null ? views?.rules(workspace).find((one) => one.id === id) : undefined;
  return { kind: GUARDS[word] ?? 'built_in', id, ...(rule !== undefined && { author: rule.created_by }) };
}

/** Who can do what would change the answer: the admins of the workspace where it is theirs to decide. */
export function whoCan(gate: string, { workspace, tool, input }: CallContext, views: GateViews): readonly string[] {
  switch (gate) {
    case 'scope':
      return [input.caller.session === undefined ? 'an admin of the issuer' : 'whoever opens the session'];
    case 'quarantine':
      return ['an operator'];
    case 'resolve_tool':
      return [tool === undefined ? 'the caller' : 'an operator'];
    case 'workspace':
    case 'guard_rail':
    case 'approval': {
      const members = workspace === null ? undefined : views.workspace(workspace)?.members;
      if (members === undefined) return ['the caller'];
      const admins = [...members].flatMap(([id, role]) => (role === 'admin' ? [id] : []));
      return admins.length > 0 ? admins : ['an operator'];
    }
    default:
      return ['the caller'];
  }
}
