import { type CatalogState, type Item, keyOf } from './catalog-state.js';
import { changedFields, type Observed } from './fingerprint.js';
import type { Declared, DeclaredItem, DeclaredTool, HeldTool, Reviewed } from '../types.js';

/** How one item that is declared now may be offered. */
export type Verdict = { is: 'served' } | { is: 'partly'; item: Item } | { is: 'held'; why: HeldTool['why'] };

/**
 * What a state says of an item as it is declared now. Asked of a state that has not taken this declaration in (the log is away), it lets
 * pass only what was approved word by word.
 */
export function verdictOf(item: Item | undefined, seen: Observed): Verdict {
  if (!item?.approved) return { is: 'held', why: 'pending' };
  const same = changedFields(seen.kind, item.approved.fields, seen.definition.fields).length === 0;
  if (same && item.held === null) return { is: 'served' };
  if (item.held?.partly === true && item.seen?.digest === seen.definition.digest) return { is: 'partly', item };
  return { is: 'held', why: 'changed' };
}

/** Whether an item is held back for something that is not on record. */
export const isNews = (item: Item | undefined, seen: Observed): boolean =>
  verdictOf(item, seen).is === 'held' && (item?.held ?? null) === null;

const REMEDY = {
  changed: 'an operator looks at the change (cortex tools diff) and approves it (cortex tools approve)',
  pending: 'an operator looks at it (cortex tools pending) and approves it (cortex tools approve)',
  degraded: 'an operator sees why, and how to get out, with cortex tools pending',
};
const hold = (tool: DeclaredTool, why: HeldTool['why']): HeldTool => ({ tool, why, remediation: REMEDY[why] });

/** What of a declaration may be offered. `observed` in the order of the declaration; what is missing there is held. */
export function offered(declared: Declared, observed: readonly Observed[], state: CatalogState): Reviewed {
  const seen = new Map(observed.map((one) => [keyOf(one), one]));
  const verdict = (kind: Observed['kind'], name: string): Verdict => {
    const key = keyOf({ kind, name });
    const one = seen.get(key);
    return one === undefined ? { is: 'held', why: 'pending' } : verdictOf(state.items[key], one);
  };
  const tools: DeclaredTool[] = [];
  const held: HeldTool[] = [];
  const extraScopes = new Map<string, readonly string[]>();
  for (const tool of declared.tools) {
    const found = verdict('tool', tool.original);
    if (found.is === 'held') held.push(hold(tool, found.why));
    else if (found.is === 'served') tools.push(tool);
    else {
      tools.push(withOldHints(tool, found.item));
      const scope: unknown = JSON.parse(found.item.approved?.fields['scope'] ?? 'null');
      if (typeof scope === 'string' && scope !== tool.scope) extraScopes.set(tool.original, [scope]);
    }
  }
  const only = <T extends DeclaredItem>(kind: Observed['kind'], items: readonly T[], name: (item: T) => string) =>
    items.filter((item) => verdict(kind, name(item)).is === 'served');
  return {
    served: {
      tools,
      prompts: only('prompt', declared.prompts, ({ original }) => original),
      templates: only('template', declared.templates, ({ uriTemplate }) => uriTemplate),
      resources: only('resource', declared.resources, ({ uri }) => uri),
    },
    held,
    ...(extraScopes.size > 0 && { extraScopes }),
  };
}

/** Nothing of a backend whose approvals cannot be believed. */
export const withheldAll = (declared: Declared): Reviewed => ({
  served: { tools: [], prompts: [], templates: [], resources: [] },
  held: declared.tools.map((tool) => hold(tool, 'degraded')),
});

const softened = new WeakMap<DeclaredTool, { item: Item; made: DeclaredTool }>();

/** The new definition under the old hints, until somebody acknowledges the looser ones; the same object for the same state. */
function withOldHints(tool: DeclaredTool, item: Item): DeclaredTool {
  const before = softened.get(tool);
  if (before?.item === item) return before.made;
  const { annotations: _, ...rest } = tool;
  const text = item.approved?.fields['annotations'];
  const raw = new Map(tool.raw);
  if (text === undefined) raw.delete('annotations');
  else raw.set('annotations', text);
  const value = { ...tool.value };
  delete value['annotations'];
  const annotations = text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
  const made: DeclaredTool = {
    ...rest,
    raw,
    value: { ...value, ...(annotations && { annotations }) },
    ...(annotations && { annotations }),
  };
  softened.set(tool, { item, made });
  return made;
}

const alike = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i]);

/** Whether two reviews came to the same objects. */
export const isSame = (a: Reviewed, b: Reviewed): boolean =>
  alike(a.served.tools, b.served.tools) &&
  alike(a.served.prompts, b.served.prompts) &&
  alike(a.served.templates, b.served.templates) &&
  alike(a.served.resources, b.served.resources) &&
  alike(
    a.held.flatMap(({ tool, why }) => [tool, why]),
    b.held.flatMap(({ tool, why }) => [tool, why]),
  ) &&
  JSON.stringify([...(a.extraScopes ?? [])]) === JSON.stringify([...(b.extraScopes ?? [])]);
