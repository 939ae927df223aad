import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ env: { CORTEX_DEV_BYPASS_TOKEN: 'dev', CORTEX_DEV_BYPASS_SCOPES: 'mcp:cortex:read' } });
});
afterAll(async () => edge[Symbol.asyncDispose]());

it('tells who calls, as text that people can read and as the same value', async () => {
  const token = await edge.token({
    scope: 'mcp:cortex:devices',
    email: 'alice@example.org',
    pool: 'blue',
    metadata: { role: 'dev' },
    jti: 'j-1',
  });
  const { body } = await edge.call('whoami', {}, { token });
  const said = body.result.structuredContent;
  expect(said).toEqual({
    identity: {
      sub: 'alice',
      person_id: expect.stringMatching(/^per_[0-9a-f-]{36}$/),
      email: 'alice@example.org',
      pool: 'blue',
      role: 'dev',
    },
    session: { client_id: 'cli', audience: edge.url, issuer: edge.issuer.url, jti: 'j-1', is_dev_bypass: false },
    scopes_granted: [
      'mcp:cortex:devices',
      'mcp:cortex:devices:exec',
      'mcp:cortex:devices:read',
      'mcp:cortex:devices:write',
    ],
    backends: [],
    discovered_at: expect.stringMatching(/^\d{4}-/),
  });
  expect(body.result.content).toEqual([{ type: 'text', text: JSON.stringify(said, null, 2) }]);
});

it('needs no scope at all', async () => {
  const { status, body } = await edge.call('whoami', {}, { token: await edge.token({ scope: '' }) });
  expect([status, body.result.structuredContent.scopes_granted]).toEqual([200, []]);
});

it('shows the development bypass', async () => {
  const { body } = await edge.call('whoami', {}, { headers: { 'x-dev-mode': 'dev', authorization: '' } });
  expect(body.result.structuredContent).toMatchObject({
    identity: { sub: 'dev:local', email: 'dev@localhost', role: 'admin' },
    session: { issuer: 'dev', jti: null, is_dev_bypass: true },
  });
});

it('takes no arguments', async () => {
  const { body } = await edge.call('whoami', { verbose: true });
  expect(body.result).toMatchObject({
    isError: true,
    _meta: { 'cortex/error': { kind: 'invalid_argument', reason: 'unknown_argument', field: 'verbose' } },
  });
});
