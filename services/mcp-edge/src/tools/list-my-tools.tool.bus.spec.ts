import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restrictionOf } from '../guard/modes.js';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { personOf, workspaceWith } from '../testing/gate-log.js';
import { sampleService } from '../testing/sample-tools.js';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService] });
  await workspaceWith(edge, 'w1', {
    members: [await personOf(edge)],
    approval_mode: 'write',
    spaces: { planning: 'plan' },
  });
});
afterAll(async () => edge[Symbol.asyncDispose]());

const list = async (args: object = {}, token?: string) =>
  (await edge.call('list_my_tools', args, token === undefined ? {} : { token })).body.result.structuredContent;
const namesOf = (entries: { name: string }[]) => entries.map(({ name }) => name);

describe('list_my_tools', () => {
  it('lists by name, one line each, in chat mode where there is no conversation', async () => {
    const said = await list();
    const names = namesOf([...said.available, ...said.restricted]);
    expect(said.conversation_mode).toBe('chat');
    expect(said.total_tools).toBe(said.available_count + said.restricted_count);
    expect(namesOf(said.available)).toEqual([...namesOf(said.available)].sort());
    expect(names).toEqual(expect.arrayContaining(['whoami', 'current_time', 'sample_echo']));
    for (const { description } of said.available) expect(description).toMatch(/^.{1,160}$/);
  });

  it('agrees with the mode gate about every tool', async () => {
    const where = { workspace_id: 'w1', space_id: 'planning' };
    const said = await list(where);
    expect(said.conversation_mode).toBe('plan');
    const refused = edge.edge.catalog
      .all()
      .filter(({ name, announced }) =>
        restrictionOf({ name, builtin: announced.builtin, group: announced.group }, 'plan'),
      )
      .map(({ name }) => name);
    expect(namesOf(said.restricted)).toEqual(refused.sort());
    expect(refused).toContain('sample_slow');
  });

  it('P63 is about what the caller may see', async () => {
    const said = await list({}, await edge.token({ sub: 'reader', scope: 'mcp:cortex:read' }));
    expect(namesOf([...said.available, ...said.restricted])).not.toContain('sample_slow');
  });
});
