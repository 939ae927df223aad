import type { DefinitionEvent, HoldReason } from '@cortex/contracts/definition';
import type { Item, Policy, Sign } from './catalog-state.js';
import { changedFields, type Observed } from './fingerprint.js';
import { loosened, withheld } from './loosened.js';

/** What one review of one item records: nothing while it is what the last one met. Pure. Source: gateway, section 17.3. */
export function reviewItem(item: Item | undefined, seen: Observed, policy: Policy, sign?: Sign): DefinitionEvent[] {
  if (item === undefined || (item.approved === null && item.held === null)) return newcomer(seen, policy, sign);
  const { approved } = item;
  if (approved === null) return hold(item, seen, [], ['pending', ...scanned(seen)]);
  const { definition } = seen;
  const changed = changedFields(seen.kind, approved.fields, definition.fields);
  const reordered = policy.order === 'block' && approved.order !== '' && approved.order !== definition.order;
  if (changed.length === 0 && !reordered) return asApproved(item, seen);
  const looser = loosened(seen.kind, approved.fields, definition.fields);
  const scan = scanned(seen);
  // Only for a tool can the scope of before be asked for as well.
  const whole =
    policy.mode === 'block' || item.pinned || scan.length > 0 || (looser.length > 0 && seen.kind !== 'tool');
  if (!whole) return accept(item, seen, changed, looser, sign);
  const reasons: HoldReason[] = [
    ...(changed.length > 0 ? (['mutated'] as const) : (['reordered'] as const)),
    ...(looser.length > 0 ? (['loosened'] as const) : []),
    ...(item.pinned ? (['rolled_back'] as const) : []),
    ...(scan.length > 0 ? (['pending'] as const) : []),
    ...scan,
  ];
  return hold(item, seen, changed.length > 0 ? changed : ['order'], reasons);
}

const scanned = ({ findings }: Observed): HoldReason[] =>
  [...new Set(findings.map(({ rule }) => rule))].map((rule): HoldReason => `scan:${rule}`);

function newcomer(seen: Observed, { pendingNew }: Policy, sign: Sign | undefined): DefinitionEvent[] {
  const { kind, name, definition } = seen;
  const scan = scanned(seen);
  const approved = scan.length === 0 && !pendingNew;
  const seal = approved ? sign?.(kind, name, definition.digest) : undefined;
  const data = { kind, name, definition, approved, returned: false, ...(seal && { seal }) };
  const added: DefinitionEvent = { type: 'ToolDefinitionAdded', data };
  return approved ? [added] : [added, quarantined(seen, [], ['pending', ...scan])];
}

function asApproved(item: Item, { kind, name, definition }: Observed): DefinitionEvent[] {
  if (item.held !== null) return [{ type: 'ToolDefinitionReverted', data: { kind, name, digest: definition.digest } }];
  if (item.listed) return [];
  return [{ type: 'ToolDefinitionAdded', data: { kind, name, definition, approved: false, returned: true } }];
}

/** In force at once, but for what asks for less care. */
function accept(
  { approved, held, seen: before, listed }: Item,
  { kind, name, definition }: Observed,
  changed: readonly string[],
  looser: readonly string[],
  sign: Sign | undefined,
): DefinitionEvent[] {
  const known = held?.partly === true && before?.digest === definition.digest && listed;
  if (known || approved === null) return [];
  const effective = looser.length > 0 ? withheld(approved.fields, definition.fields, looser) : undefined;
  const seal = sign?.(kind, name, (effective ?? definition).digest);
  const data = {
    kind,
    name,
    definition,
    previous: approved.digest,
    changed,
    approved: true,
    ...(effective && { effective, held_back: looser }),
    ...(seal && { seal }),
  };
  return [{ type: 'ToolDefinitionMutated', data }];
}

function hold(
  item: Item,
  seen: Observed,
  changed: readonly string[],
  reasons: readonly HoldReason[],
): DefinitionEvent[] {
  const { kind, name, definition } = seen;
  const { held, seen: before, approved } = item;
  const same = before?.digest === definition.digest && before.order === definition.order;
  const events: DefinitionEvent[] = [];
  if (!same) {
    const previous = before?.digest ?? approved?.digest ?? null;
    events.push({
      type: 'ToolDefinitionMutated',
      data: { kind, name, definition, previous, changed, approved: false },
    });
  }
  const known = held !== null && !held.partly && alike(held.reasons, reasons) && alike(held.changed, changed);
  if (!same || !known) events.push(quarantined(seen, changed, reasons));
  else if (!item.listed)
    events.push({ type: 'ToolDefinitionAdded', data: { kind, name, definition, approved: false, returned: true } });
  return events;
}

const alike = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text) => b.includes(text));

const quarantined = (
  { kind, name, definition: { digest } }: Observed,
  changed: readonly string[],
  reasons: readonly HoldReason[],
): DefinitionEvent => ({ type: 'ToolDefinitionQuarantined', data: { kind, name, digest, changed, reasons } });
