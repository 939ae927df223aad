import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ beside: [] });
});
afterAll(async () => edge[Symbol.asyncDispose]());

const register = (args: Record<string, unknown>) => edge.app.ask<{ person_id: string }>('cmd', 'register_person', args);
const person = (person_id: string) =>
  edge.app.ask<{ scopes: string[]; last_seen_at: string | null }>(
    'query',
    'person',
    { person_id },
    { from: 'session' },
  );

it('tells of somebody who is registered nothing that a token would have said, and then what it said', async () => {
  const { person_id } = await register({ issuer: edge.issuer.url, sub: 'dora' });
  expect(person_id).toMatch(/^per_/);
  expect(await person(person_id)).toEqual({ scopes: [], last_seen_at: null });
  const token = await edge.token({ sub: 'dora', scope: 'mcp:cortex:read mcp:cortex:devices' });
  expect((await edge.call('whoami', {}, { token })).body.result.structuredContent.identity).toMatchObject({
    person_id,
  });
  const { scopes, last_seen_at } = await person(person_id);
  expect(scopes).toContain('mcp:cortex:devices:exec');
  expect(Math.abs(Date.now() - Date.parse(last_seen_at ?? ''))).toBeLessThan(60_000);
});

it('knows nobody by an id that was not given', async () => {
  await expect(person('per_nobody')).rejects.toMatchObject({ kind: 'not_found', field: 'person_id' });
});

it.each([
  {},
  { issuer: 'x' },
  { issuer: 'x', sub: '' },
  { issuer: 'x', sub: 'a\nb' },
  { issuer: 'x', sub: 'a'.repeat(2000) },
])('registers nobody by %j', async (args) => {
  await expect(register(args)).rejects.toMatchObject({ kind: 'invalid_argument' });
});
