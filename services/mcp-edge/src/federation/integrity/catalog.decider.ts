import { conflict, failedPrecondition, notFound } from '@cortex/contracts';
import type { Definition, DefinitionEvent, HoldReason, ItemKind, Seal } from '@cortex/contracts/definition';
import { defineDecider } from '@cortex/eventstore';
import {
  admitted,
  type Approved,
  AUTOMATIC,
  type CatalogState,
  type Item,
  keyOf,
  type Past,
  type Policy,
  type Sign,
} from './catalog-state.js';
import { digestOf, type Observed } from './fingerprint.js';
import { reviewItem } from './review-item.js';

export type CatalogCommand =
  /** What is declared now; `all` = there is nothing else, so what is missing was removed: `MAX_GONE` items of it. */
  | { type: 'Review'; observed: readonly Observed[]; all?: ReadonlySet<string>; policy: Policy; sign?: Sign }
  /** Without a digest the one that is held. */
  | { type: 'Acknowledge'; kind: ItemKind; name: string; digest?: string; by: string; sign?: Sign }
  | { type: 'RollBack'; kind: ItemKind; name: string; definition: Definition; by: string; sign?: Sign }
  /** `until`: the newest that others know as decided, where that is later than now. */
  | { type: 'Restart'; why: 'start_over' | 'signed_baseline'; by: string; until?: string; seal?: Seal }
  /** Approvals of a signed baseline, each with the proof that it brought. */
  | {
      type: 'Adopt';
      entries: readonly { kind: ItemKind; name: string; definition: Definition; seal: Seal }[];
      by: string;
    };

/** Items that one commit says are gone: with names of full length they are half of what a server takes. */
export const MAX_GONE = 250;

/** What one backend declared and what of it was approved. Source: gateway, section 17. */
export const catalog = defineDecider<CatalogCommand, DefinitionEvent, CatalogState>({
  subject: 'mcp-edge.catalog',
  initial: { items: {}, restarted: null, lost: null },
  snapshotVersion: 2,
  // A definition is compared word by word: nothing may be taken out of it.
  documents: ['definition', 'effective', 'name'],
  decide(command, { items }) {
    switch (command.type) {
      case 'Review': {
        const { observed, all, policy, sign } = command;
        const changed = admitted(items, observed).flatMap((seen) => reviewItem(items[keyOf(seen)], seen, policy, sign));
        if (all === undefined) return changed;
        const gone = Object.entries(items)
          .filter(([key, { listed }]) => listed && !all.has(key))
          .slice(0, MAX_GONE);
        return [
          ...changed,
          ...gone.map(([, { kind, name }]) => ({ type: 'ToolDefinitionRemoved' as const, data: { kind, name } })),
        ];
      }
      case 'Acknowledge': {
        const { kind, name, by, digest, sign } = command;
        const item = items[keyOf(command)];
        const shown = item?.seen;
        if (item === undefined || shown === undefined || shown === null || item.held === null) {
          // The same yes again, from another replica or after a lost answer.
          if (item?.approved && digest !== undefined && item.approved.digest === digest) return [];
          throw notFound('tool', 'is not quarantined', 'see what is with cortex tools pending');
        }
        if (digest !== undefined && digest !== shown.digest)
          throw conflict('digest', 'is not the one that is declared now', 'look at the new difference first', {
            reason: 'changed_since_approval',
          });
        const { changed } = item.held;
        const seal = sign?.(kind, name, shown.digest);
        const data = { kind, name, definition: shown, changed, by, ...(seal && { seal }) };
        return [{ type: 'ToolDefinitionAcknowledged', data }];
      }
      case 'RollBack': {
        const { kind, name, definition, by, sign } = command;
        const item = items[keyOf(command)];
        if (item === undefined)
          throw notFound('tool', 'has never been seen', 'name one that cortex tools history knows');
        if (item.approved?.digest === definition.digest) return [];
        if (
          !item.past.some(({ digest }) => digest === definition.digest) ||
          digestOf(kind, definition.fields) !== definition.digest
        )
          throw failedPrecondition('digest', 'was never approved for this item', 'take one of its history that was', {
            reason: 'invalid_state',
          });
        const seal = sign?.(kind, name, definition.digest);
        const previous = item.approved?.digest ?? null;
        return [
          {
            type: 'ToolDefinitionRolledBack',
            data: { kind, name, definition, previous, by, ...(seal && { seal }) },
          },
        ];
      }
      case 'Restart': {
        const { why, by, until, seal } = command;
        return [{ type: 'ToolBaselineRestarted', data: { why, by, ...(until && { until }), ...(seal && { seal }) } }];
      }
      case 'Adopt':
        return command.entries.flatMap(({ kind, name, definition, seal }) => {
          const before = items[keyOf({ kind, name })]?.approved;
          if (before?.digest === definition.digest && before.seal?.value === seal.value) return [];
          const data = { kind, name, definition, changed: [], by: command.by, seal };
          return [{ type: 'ToolDefinitionAcknowledged' as const, data }];
        });
    }
  },
  evolve(before, { type, data, at, actor, gap }) {
    if (type === 'ToolBaselineRestarted') return restarted(before, data, at);
    const state = gap && before.lost === null ? { ...before, lost: at } : before;
    const key = keyOf(data);
    const item = state.items[key] ?? fresh(data.kind, data.name, state.restarted?.dropped);
    const put = (change: Partial<Item>): CatalogState => {
      const items = inFold.items === state.items && inFold.actor === actor ? inFold.items : { ...state.items };
      items[key] = { ...item, ...change };
      inFold = { items, actor };
      return { ...state, items };
    };
    /** What is in force from now on. */
    const approved = (definition: Definition, by: string, seal: Seal | undefined): Partial<Item> => ({
      approved: { ...definition, since: at, by, ...(seal && { seal }) },
      past: item.approved ? withPast(item.past, item.approved) : item.past,
      sealed: seal && seal.at > item.sealed ? seal.at : item.sealed,
      decided: later(at, item.decided),
    });
    switch (type) {
      case 'ToolDefinitionAdded':
        if (data.returned) return put({ listed: true });
        if (!data.approved) return put({ listed: true, seen: data.definition });
        return put({ listed: true, seen: null, held: null, ...approved(data.definition, AUTOMATIC, data.seal) });
      case 'ToolDefinitionMutated': {
        const { definition, effective, held_back = [], seal } = data;
        if (!data.approved) return put({ listed: true, seen: definition });
        const held = { reasons: ['loosened' as const], changed: held_back, since: at, partly: true };
        return put({
          listed: true,
          seen: effective ? definition : null,
          held: effective ? held : null,
          ...approved(effective ?? definition, AUTOMATIC, seal),
        });
      }
      case 'ToolDefinitionRemoved':
        return put({ listed: false });
      case 'ToolDefinitionQuarantined':
        return put({ held: { reasons: data.reasons, changed: data.changed, since: at, partly: false } });
      case 'ToolDefinitionReverted':
        return put({ listed: true, seen: null, held: null });
      case 'ToolDefinitionAcknowledged': {
        const declared = item.seen ?? item.approved;
        // A signed baseline may approve what is not declared now; what is then stays held.
        const other = declared !== null && declared.digest !== data.definition.digest;
        return put({
          ...approved(data.definition, data.by, data.seal),
          pinned: false,
          seen: other ? declared : null,
          held: other ? (item.held ?? { reasons: ['mutated'], changed: [], since: at, partly: false }) : null,
        });
      }
      case 'ToolDefinitionRolledBack': {
        const declared = item.seen ?? item.approved;
        const same = declared?.digest === data.definition.digest;
        const reasons = [...new Set<HoldReason>([...(item.held?.reasons ?? []), 'rolled_back'])];
        return put({
          ...approved(data.definition, data.by, data.seal),
          pinned: true,
          seen: same ? null : declared,
          held: same ? null : { reasons, changed: item.held?.changed ?? [], since: at, partly: false },
        });
      }
    }
  },
});

/**
 * The items that the last event made, and the actor of its commit, one object for all events of one commit: between two of these nobody else
 * holds the state, so it is copied once per commit. Once per event, 10,000 tools of a backend would block the edge for half a minute.
 */
let inFold: { items?: Record<string, Item>; actor?: object } = {};

const fresh = (kind: ItemKind, name: string, sealed = ''): Item => ({
  kind,
  name,
  approved: null,
  seen: null,
  held: null,
  listed: false,
  pinned: false,
  past: [],
  sealed,
  decided: '',
});

function withPast(past: readonly Past[], { digest, since, by }: Approved): Past[] {
  return [...past.filter((old) => old.digest !== digest || old.by !== by), { digest, since, by }];
}

const later = (a: string, b: string): string => (a > b ? a : b);

function restarted(
  { items, restarted: before }: CatalogState,
  { why, by, seal, until: given = '' }: Extract<DefinitionEvent, { type: 'ToolBaselineRestarted' }>['data'],
  at: string,
): CatalogState {
  const kept: [string, Item][] = [];
  let dropped = before?.dropped ?? '';
  // Clocks of two replicas differ: what was decided before may bear a later time.
  const until = Object.values(items).reduce((max, { decided }) => later(max, decided), later(at, given));
  for (const [key, item] of Object.entries(items))
    // What was approved under another key, or none, proves nothing any more; the next review says what becomes of each item.
    if (item.listed) kept.push([key, { ...item, approved: null, seen: null, held: null, pinned: false, past: [] }]);
    // Nothing of it is left to compare with: it makes room.
    else if (item.sealed > dropped) dropped = item.sealed;
  return {
    items: Object.fromEntries(kept),
    restarted: { why, seal: seal ?? null, at, by, until, ...(dropped !== '' && { dropped }) },
    // Whatever was lost has ended as well.
    lost: null,
  };
}
