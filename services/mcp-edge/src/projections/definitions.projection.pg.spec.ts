import type { DefinitionEvent } from '@cortex/contracts/definition';
import { projectionFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { observedTool } from '../testing/definitions.js';
import { definitions } from './definitions.projection.js';
import { migrations } from './tables.js';

const named = { kind: 'tool', name: 'echo' } as const;
const first = observedTool('echo', {}).definition;
const second = observedTool('echo', { description: 'Other.' }).definition;
const added: DefinitionEvent = {
  type: 'ToolDefinitionAdded',
  data: { ...named, definition: first, approved: true, returned: false },
};
const mutated: DefinitionEvent = {
  type: 'ToolDefinitionMutated',
  data: { ...named, definition: second, previous: first.digest, changed: ['description'], approved: false },
};
const acknowledged: DefinitionEvent = {
  type: 'ToolDefinitionAcknowledged',
  data: { ...named, definition: second, changed: ['description'], by: 'per_1' },
};

it('keeps each definition once, by digest, with who approved it last, however often it is delivered', async () => {
  await using t = await projectionFixture(definitions, migrations);
  await t.apply(1, added);
  await t.apply(2, mutated);
  await t.apply(2, mutated);
  const rows = () =>
    t.db.selectFrom('definitions').select(['digest', 'approved_by']).orderBy('first_seen_at').execute();
  expect(await rows()).toEqual(
    expect.arrayContaining([
      { digest: first.digest, approved_by: 'first seen' },
      { digest: second.digest, approved_by: null },
    ]),
  );
  await t.apply(3, acknowledged);
  await t.apply(4, added);
  expect(await rows()).toHaveLength(2);
  expect(await rows()).toContainEqual({ digest: second.digest, approved_by: 'per_1' });
});
