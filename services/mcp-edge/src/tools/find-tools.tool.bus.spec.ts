import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { sampleService } from '../testing/sample-tools.js';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService] });
});
afterAll(async () => edge[Symbol.asyncDispose]());

const find = async (args: object, token?: string) => {
  const { body } = await edge.call('find_tools', args, token === undefined ? {} : { token });
  return body.result;
};
const names = async (args: object, token?: string): Promise<string[]> =>
  (await find(args, token)).structuredContent.tools.map(({ name }: { name: string }) => name);

describe('find_tools', () => {
  it('gives definitions by exact name, which win over a query, and leaves unknown names out', async () => {
    const { structuredContent } = await find({ names: ['sample_echo', 'nothing'], query: 'whoami' });
    expect(structuredContent.tools).toEqual([
      {
        name: 'sample_echo',
        title: 'A sample',
        description: 'Gives the text back. Safe to repeat.',
        inputSchema: expect.objectContaining({ type: 'object', required: ['text'] }),
        outputSchema: expect.objectContaining({ type: 'object' }),
        annotations: expect.objectContaining({ readOnlyHint: true, destructiveHint: false }),
      },
    ]);
  });

  it('looks at names first, then at titles and descriptions, whatever the case', async () => {
    expect(await names({ query: 'WHOAMI' })).toEqual(['whoami']);
    expect((await names({ query: 'fail' }))[0]).toBe('sample_fail');
    expect(await names({ query: 'gives the text' })).toEqual(['sample_echo']);
    expect(await names({ query: 'current time' })).toEqual(['current_time']);
    expect(await names({ query: 'no such thing' })).toEqual([]);
  });

  it('gives at most ten hits', async () => expect((await names({ query: 'e' })).length).toBeLessThanOrEqual(10));

  it('P63 finds what the caller may see, and nothing else', async () => {
    const reader = await edge.token({ sub: 'reader', scope: 'mcp:cortex:read' });
    expect(await names({ names: ['sample_slow', 'sample_echo'] }, reader)).toEqual(['sample_echo']);
    const nobody = await edge.token({ sub: 'nobody', scope: '' });
    expect(await names({ query: 'sample' }, nobody)).toEqual([]);
  });

  it('is listed in search mode only, and callable always', async () => {
    const listed = async (headers: Record<string, string>) =>
      (await edge.ask('tools/list', {}, { headers })).body.result.tools.map(({ name }: { name: string }) => name);
    expect(await listed({})).not.toContain('find_tools');
    const search = await listed({ 'x-cortex-tool-mode': 'search' });
    expect([search[0], search.includes('find_tools')]).toEqual(['whoami', true]);
  });

  it.each([{}, { query: '   ' }])('needs names or a query: %j', async (args) =>
    expect((await find(args))._meta['cortex/error']).toMatchObject({ kind: 'invalid_argument', field: 'query' }),
  );
});
