import { type BusRequest, CortexError } from '@cortex/contracts';
import { runTool, type ServiceHost, type Tool } from '@cortex/service-kit';
import type { PreparedLists } from '../catalog/lists.js';
import { bindEdgeScope, type CatalogReader, type CatalogTool, type ModeReader } from '../seams.js';
import type { CallContext } from './call-context.js';
import type { Reply } from './dispatch.js';

/** The edge's own tools, run here with the same checks and spans as in any service. */
export class LocalTools {
  constructor(
    private readonly host: ServiceHost,
    private readonly catalog: CatalogReader,
    private readonly modes: ModeReader,
    private readonly lists: Pick<PreparedLists, 'schemasOf'>,
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
    const { list = {} } = ctx.input;
    const schemasOf = (shown: CatalogTool) => this.lists.schemasOf(shown, list);
    const scope = { caller, catalog: this.catalog, modes: this.modes, schemasOf };
    const { head, body } = await runTool(this.host, tool, request, {
      prepare: (toolContext) => bindEdgeScope(toolContext, scope),
    });
    if (!head.ok) throw CortexError.fromWire(head.error);
    if (head.wait !== undefined) return { wait: head.wait };
    return { members: body, is_error: head.is_error === true, ...(head.meta !== undefined && { meta: head.meta }) };
  }

  cancel(ctx: CallContext): void {
    this.host.transport.runner.inFlight.cancel(ctx.call_id);
  }
}
