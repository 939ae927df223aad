import type { Instances } from './catalog/instances.js';
import type { Federation } from './federation/federation.js';
import type { Methods } from './methods/methods.js';
import type { CallerContext, CallInput, CatalogReader, CatalogTool, ModeReader } from './seams.js';

/** What the built-ins of `tools/` see beside their arguments: `edgeScope(ctx)` inside a handler. */
export interface EdgeScope {
  readonly caller: CallerContext;
  readonly catalog: CatalogReader;
  readonly modes: ModeReader;
  /** The call as it came. */
  readonly input: CallInput;
  /** W3C, of the call's own span: for what is asked on its behalf. */
  readonly traceparent: string;
  /** The backends, for what is asked of them beside their tools. */
  readonly federation: Pick<Federation, 'shelves' | 'complete' | 'refreshedAt'>;
  readonly methods: Pick<Methods, 'serve' | 'resources'>;
  /** Hears that a service ended which was asked something. */
  readonly instances: Pick<Instances, 'hold'>;
  /** JSON text of a tool's definition as this request would get it in a list; undefined where it has no such form. */
  readonly definitionOf: (tool: CatalogTool) => string | undefined;
  /** Set by a handler that ends in questions to the client: they take the place of its result. */
  questions?: Readonly<Record<string, unknown>>;
}

const scopes = new WeakMap<object, EdgeScope>();
/** Called by the in-process dispatch, before the handler runs. */
export const bindEdgeScope = (ctx: object, scope: EdgeScope): void => void scopes.set(ctx, scope);
/** Throws outside of a call that `bindEdgeScope` prepared. */
export function edgeScope(ctx: object): EdgeScope {
  const scope = scopes.get(ctx);
  if (!scope) throw new Error('an edge tool was run without its scope');
  return scope;
}
