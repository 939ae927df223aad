import { type BusRequest, CortexError } from '@cortex/contracts';
import { runTool, type ServiceHost, type Tool } from '@cortex/service-kit';
import type { PreparedLists } from '../catalog/lists.js';
import { ownProvenance } from '../federation/provenance.js';
import { bindEdgeScope, type EdgeScope } from '../edge-scope.js';
import type { CatalogTool } from '../seams.js';
import type { CallContext } from './call-context.js';
import type { Reply } from './dispatch.js';

/** What the edge's own tools see of it, the same for every call. */
export interface LocalWorld extends Pick<EdgeScope, 'catalog' | 'modes' | 'federation' | 'methods' | 'instances'> {
  readonly lists: Pick<PreparedLists, 'definitionOf'>;
}

/** The edge's own tools, run here with the same checks and spans as in any service. */
export class LocalTools {
  constructor(
    private readonly host: ServiceHost,
    private readonly world: LocalWorld,
  ) {}

  async ask(ctx: CallContext, tool: Tool, resume: boolean): Promise<Reply> {
    const { caller, meta } = ctx.input;
    const request: BusRequest = {
      v: 1,
      call_id: ctx.call_id,
      workspace_id: ctx.workspace,
      principal: caller.principal,
      scope: caller.scope,
      args: ctx.args,
      deadline_ms: tool.announced.deadline_ms,
      caller: caller.caller_hash,
      traceparent: ctx.traceparent,
      ...(ctx.mode !== undefined && { mode: ctx.mode }),
      ...(ctx.approval !== undefined && { approval: ctx.approval }),
      ...(resume && { resume }),
      ...(meta.idempotency_key !== undefined && { idempotency_key: meta.idempotency_key }),
    };
    const scope = this.#scope(ctx);
    const { head, body } = await runTool(this.host, tool, request, {
      prepare: (toolContext) => bindEdgeScope(toolContext, scope),
    });
    if (!head.ok) throw CortexError.fromWire(head.error);
    if (head.wait !== undefined) return { wait: head.wait };
    const origin = tool.announced.builtin ? ownProvenance(tool.name, this.host.version) : undefined;
    // What a handler says of where its content came from is nearer to the truth.
    const told = origin || head.meta ? { ...origin, ...head.meta } : undefined;
    const more = { is_error: head.is_error === true, ...(told !== undefined && { meta: told }) };
    if (scope.questions === undefined) return { members: body, ...more };
    return { members: JSON.stringify(scope.questions).slice(1, -1), ...more, result_type: 'input_required' };
  }

  cancel(ctx: CallContext): void {
    this.host.transport.runner.inFlight.cancel(ctx.call_id);
  }

  #scope({ input, traceparent }: CallContext): EdgeScope {
    const { lists, ...world } = this.world;
    const { caller, revision, list = {} } = input;
    const definitionOf = (shown: CatalogTool) => lists.definitionOf(shown, revision, list);
    return { ...world, caller, input, traceparent, definitionOf };
  }
}
