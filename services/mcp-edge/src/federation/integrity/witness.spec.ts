import type { DefinitionEvent } from '@cortex/contracts/definition';
import { describe, expect, it } from '@jest/globals';
import { observedTool } from '../../testing/definitions.js';
import { catalog } from './catalog.decider.js';
import type { CatalogState } from './catalog-state.js';
import { heard, lossOf, type Testimony } from './witness.js';

const { definition } = observedTool('echo', {});
const named = { kind: 'tool', name: 'echo' } as const;
const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const added: DefinitionEvent = {
  type: 'ToolDefinitionAdded',
  data: { ...named, definition, approved: true, returned: false },
};
const approved = (by: string): DefinitionEvent => ({
  type: 'ToolDefinitionAcknowledged',
  data: { ...named, definition, changed: [], by },
});
const again = (until?: string): DefinitionEvent => ({
  type: 'ToolBaselineRestarted',
  data: { why: 'start_over', by: 'cli:ada', ...(until && { until }) },
});
/** Each event in a commit of its own; `gap`: right behind a hole. */
const folded = (...events: { event: DefinitionEvent; minute: number; gap?: true }[]): CatalogState =>
  events.reduce(
    (state, { event, minute, gap }) =>
      catalog.evolve(state, {
        ...event,
        at: at(minute),
        actor: { kind: 'system', id: 'mcp-edge' },
        workspace: '_',
        version: 1,
        ...(gap && { gap }),
      }),
    catalog.initial,
  );
const says = (minute: number, change: Partial<Testimony> = {}): Testimony => ({
  ...named,
  digest: definition.digest,
  approved: true,
  at: at(minute),
  by: 'cli:ada',
  from: 'the database',
  ...change,
});

describe('what the log has lost', () => {
  it('is an approval that it does not have, of an item or later than its own (T20)', () => {
    expect(lossOf(folded({ event: added, minute: 1 }), [says(1)])).toBeUndefined();
    expect(lossOf(folded(), [says(1)])).toBe(
      `the log has lost what was decided about tool echo (approved as ${definition.digest.slice(0, 12)} by cli:ada on ${at(1)}, says the database)`,
    );
    expect(lossOf(folded({ event: added, minute: 1 }), [says(2)])).toContain('tool echo');
    const others = Array.from({ length: 9 }, (_, n) => says(1, { name: `tool${n}` }));
    expect(lossOf(folded(), others)).toMatch(/tool4 \([^()]*\), 4 others$/);
  });

  it('is what was held back, where the log has nothing of the item at all (T20)', () => {
    const held = says(1, { approved: false, by: null });
    expect(lossOf(folded(), [held])).toContain('held back as');
    expect(lossOf(folded({ event: added, minute: 0 }), [held])).toBeUndefined();
  });

  it('is not what a replica decided earlier by a clock that is ahead', () => {
    const log = folded(
      { event: added, minute: 1 },
      { event: approved('a'), minute: 9 },
      { event: approved('b'), minute: 5 },
    );
    expect(lossOf(log, [says(9)])).toBeUndefined();
    expect(lossOf(folded({ event: added, minute: 9 }, { event: again(), minute: 5 }), [says(9)])).toBeUndefined();
  });

  it('is told by a hole alone, and first by what is known of it (T20)', () => {
    const log = folded({ event: added, minute: 3, gap: true }, { event: approved('a'), minute: 4, gap: true });
    expect(lossOf(log, [says(3)])).toContain(`commits of before ${at(3)}; what was decided with them is not known`);
    expect(lossOf(log, [says(7)])).toContain(
      `commits of before ${at(3)}, and with them what was decided about tool echo`,
    );
  });

  it('is over with a start over, also where what was lost is of a time to come (T20)', () => {
    const log = folded({ event: added, minute: 1, gap: true }, { event: again(at(99)), minute: 5 });
    expect(lossOf(log, [says(99), says(3, { approved: false, name: 'gone' })])).toBeUndefined();
    expect(lossOf(log, [says(100)])).toContain('tool echo');
  });
});

it('a witness that cannot answer is said to be unavailable', async () => {
  await expect(heard(() => Promise.reject(new Error('no route')), 'demo')).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('no route'),
  });
});
