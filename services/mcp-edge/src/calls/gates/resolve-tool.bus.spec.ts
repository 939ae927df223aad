import { describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, testBackend } from '../../testing/backend.js';
import { startEdge } from '../../testing/edge-fixture.js';

describe('a name that is no tool', () => {
  it('is unavailable, not unknown, as long as a new process does not know what there is', async () => {
    await using backend = await testBackend();
    const asked = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    backend.answers['list_tools'] = (_asked, res) => {
      asked.resolve();
      const tools = [{ name: 'one', scope: 'mcp:a:use', description: 'One.' }];
      void told.promise.then(() => json(res, 200, { tools }));
    };
    await using edge = await startEdge({ beside: [], ready: false, env: backendEnv({ a: backend }) });
    const token = await edge.token({ scope: 'mcp:a:use' });
    await asked.promise;
    const early = await edge.call('a_one', {}, { token });
    expect(early.body.result._meta['cortex/error']).toMatchObject({ kind: 'unavailable', retryable: true });
    told.resolve();
    await eventually(() => edge.edge.catalog.complete);
    expect((await edge.call('a_two', {}, { token })).body.error.message).toContain(
      'Unknown tool: a_two. Close names: a_one.',
    );
  });
});
