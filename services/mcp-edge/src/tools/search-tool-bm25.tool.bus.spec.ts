import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { personOf, workspaceWith } from '../testing/gate-log.js';
import { sampleService } from '../testing/sample-tools.js';
import { indexOf } from './tool-index.js';

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

const search = async (args: object, token?: string) => {
  const { body } = await edge.call('search_tool_bm25', args, token === undefined ? {} : { token });
  return body.result;
};

describe('search_tool_bm25', () => {
  it('gives the best match first, with all that a call of it needs', async () => {
    const { structuredContent } = await search({ query: ' time zone ', limit: 1 });
    expect(structuredContent).toEqual({
      query: 'time zone',
      limit: 1,
      total_tools: edge.edge.catalog.all().filter(({ name }) => name !== 'sample_session').length,
      matches: ['current_time'],
      tools: [
        {
          name: 'current_time',
          label: 'current time',
          description: expect.stringContaining('date and time'),
          schema_keys: ['timezone'],
          input_schema: expect.objectContaining({ type: 'object' }),
          score: expect.any(Number),
          callable: true,
        },
      ],
      note: expect.any(String),
    });
    const { score } = structuredContent.tools[0];
    expect(score).toBe(Number(score.toFixed(4)));
  });

  it.each([
    [undefined, 8],
    [0, 8],
    [-3, 8],
    [51, 50],
  ])('takes a limit of %j for %d', async (limit, used) => {
    const { structuredContent } = await search({ query: 'safe to repeat', ...(limit !== undefined && { limit }) });
    expect(structuredContent.limit).toBe(used);
    expect(structuredContent.tools.length).toBeLessThanOrEqual(used);
  });

  it('P63 finds what the caller may see, and nothing else', async () => {
    const token = await edge.token({ sub: 'reader', scope: 'mcp:cortex:read' });
    const { structuredContent } = await search({ query: 'sample slow sleeps', limit: 50 }, token);
    expect(structuredContent.matches).not.toContain('sample_slow');
  });

  it('says what the mode of the conversation refuses, and why', async () => {
    const where = { workspace_id: 'w1', space_id: 'planning' };
    const { structuredContent } = await search({ query: 'sample sleeps', limit: 50, ...where });
    expect(structuredContent.conversation_mode).toBe('plan');
    expect(structuredContent.tools).toContainEqual(
      expect.objectContaining({
        name: 'sample_slow',
        callable: false,
        restricted_reason: expect.stringContaining('refused in plan mode'),
      }),
    );
  });

  it.each([{}, { query: '  ' }, { query: 'x'.repeat(401) }])('refuses a query like %j', async (args) =>
    expect((await search(args))._meta['cortex/error']).toMatchObject({ kind: 'invalid_argument', field: 'query' }),
  );

  it('makes its index anew only when the catalogue has changed', () => {
    const { catalog } = edge.edge;
    expect(indexOf(catalog)).toBe(indexOf(catalog));
    const before = indexOf(catalog);
    catalog.version++;
    expect(indexOf(catalog)).not.toBe(before);
  });
});
