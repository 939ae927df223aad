import { describe, expect, it } from '@jest/globals';
import type { DefinitionEvent } from '@cortex/contracts/definition';
import { observedTool, review } from '../../testing/definitions.js';
import { catalog } from './catalog.decider.js';
import type { CatalogState, Policy } from './catalog-state.js';
import { Pace } from './pace.js';
import { verdictOf } from './serve.js';

const POLICY: Policy = { mode: 'block', order: 'block', pendingNew: false };
const KEY = 'tool/echo';
const as = (description: string) => observedTool('echo', { description });

/** Reviews one tool as often as it changes, and tells what of it is recorded and what is offered. */
function backend() {
  let now = 0;
  let state: CatalogState = catalog.initial;
  const pace = new Pace({ everyMs: 60_000, now: () => now });
  return {
    pace,
    pass: (ms: number) => void (now += ms),
    sees(...seen: ReturnType<typeof as>[]): DefinitionEvent[] {
      const item = state.items[KEY];
      const events = catalog.decide(review(seen, POLICY), state);
      if (seen.length > 0 && !pace.takes('demo', KEY, item, events)) return [];
      for (const event of events)
        state = catalog.evolve(state, {
          at: '2026-12-01T00:00:00.000Z',
          actor: { kind: 'system', id: 'mcp-edge' },
          workspace: '_',
          version: 1,
          ...event,
        });
      return events;
    },
    offers: (seen: ReturnType<typeof as>) => verdictOf(state.items[KEY], seen).is,
  };
}

describe('what is recorded of an item that is held back', () => {
  it('is its first change, then one in each interval, and it stays held meanwhile (T33)', () => {
    const demo = backend();
    demo.sees(as('first'));
    expect(demo.sees(as('second'))).not.toEqual([]);
    expect(demo.sees(as('third'))).not.toEqual([]);
    for (let n = 0; n < 100; n++) {
      expect(demo.sees(as(`again ${n}`))).toEqual([]);
      expect(demo.offers(as(`again ${n}`))).toBe('held');
    }
    demo.pass(60_000);
    expect(demo.sees(as('last'))).not.toEqual([]);
  });

  it('is nothing more of a definition that goes to and fro', () => {
    const demo = backend();
    demo.sees(as('first'));
    let recorded = 0;
    for (let n = 0; n < 100; n++) recorded += demo.sees(as(n % 2 === 0 ? 'evil' : 'first')).length;
    expect(recorded).toBeLessThan(10);
    expect([demo.offers(as('evil')), demo.offers(as('first'))]).toEqual(['held', 'served']);
  });

  it('is nothing more of an item that comes and goes; what was approved is offered', () => {
    const demo = backend();
    demo.sees(as('first'));
    let recorded = 0;
    for (let n = 0; n < 100; n++) recorded += demo.sees(...(n % 2 === 0 ? [] : [as('first')])).length;
    expect(recorded).toBeLessThan(10);
    expect(demo.offers(as('first'))).toBe('served');
    expect(demo.sees(as('evil'))).not.toEqual([]);
  });

  it('begins anew when somebody decided', () => {
    const demo = backend();
    for (const text of ['first', 'second', 'third', 'fourth']) demo.sees(as(text));
    demo.pace.forget('demo');
    expect(demo.sees(as('fifth'))).not.toEqual([]);
  });
});
