import { describe, expect, it } from '@jest/globals';
import { declared, declaredTool, observedTool } from '../../testing/definitions.js';
import type { EdgeLog } from '../../seams.js';
import type { Backend } from '../types.js';
import { catalog } from './catalog.decider.js';
import { type CatalogState, keyOf, MAX_ITEMS } from './catalog-state.js';
import { chunks, sizeOf } from './chunks.js';
import { Integrity, type IntegrityOptions } from './integrity.js';

const { evolve } = catalog;
const META = {
  at: '2026-12-01T00:00:00.000Z',
  actor: { kind: 'system', id: 'mcp-edge' },
  workspace: '_',
  version: 1,
} as const;
const demo = { id: 'demo' } as Backend;

/** What is known of a backend that has declared as many names as are kept. */
function crowded(): CatalogState {
  const item = observedTool('gone', {});
  const data = { kind: 'tool', name: 'gone', definition: item.definition, approved: true, returned: false } as const;
  const one = evolve(catalog.initial, { type: 'ToolDefinitionAdded', data, ...META }).items['tool/gone']!;
  const items = Array.from({ length: MAX_ITEMS }, (_, n) => ({ ...one, name: `gone${n}`, listed: false }));
  return { items: Object.fromEntries(items.map((gone) => [keyOf(gone), gone])), restarted: null, lost: null };
}

describe('new names of a backend that has declared too many (T33)', () => {
  it('are held back and counted, and told once with the way out; nothing of them is written', async () => {
    const lines: string[] = [];
    const log = new Proxy({}, { get: () => (_: object, text: string) => void lines.push(text) }) as EdgeLog;
    const state = crowded();
    const store = {
      load: () => Promise.resolve({ state, seq: 1, unknown: undefined }),
      execute: () => Promise.reject(new Error('nothing is to be written')),
    } as unknown as IntegrityOptions['store'];
    const integrity = new Integrity({
      store,
      keys: { signing: 'none' },
      mode: 'block',
      order: 'report',
      everyMs: 60_000,
      witness: () => Promise.resolve([]),
      fault: () => undefined,
      changed: () => undefined,
      log,
    });
    for (const names of [
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]) {
      const { served, held } = await integrity.review(demo, declared(names.map((name) => declaredTool(name, {}))));
      expect([served.tools, held.map(({ tool }) => tool.original)]).toEqual([[], names]);
      expect([integrity.unrecorded, integrity.heldCount]).toEqual([names.length, names.length]);
    }
    expect(integrity.crowded).toEqual([expect.stringMatching(/^demo has .* cortex tools start-over demo --yes$/)]);
    expect(lines.filter((line) => line.includes('different names so far'))).toHaveLength(1);
  });
});

it('ten thousand small items go into commits that a server takes', () => {
  const items = Array.from({ length: 10_000 }, (_, n) => observedTool(`item${n}`, {}));
  for (const part of chunks(items, ({ name, bytes }) => sizeOf(name, bytes))) {
    const events = catalog.decide(
      { type: 'Review', observed: part, policy: { mode: 'block', order: 'report', pendingNew: true } },
      catalog.initial,
    );
    expect(JSON.stringify(events).length).toBeLessThan(900_000);
  }
});
