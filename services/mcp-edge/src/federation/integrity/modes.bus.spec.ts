import { generateKeyPairSync } from 'node:crypto';
import { PROVISIONER } from '@cortex/contracts/services';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { backendEnv, type TestBackend, testBackend } from '../../testing/backend.js';
import { type EdgeFixture, startEdge } from '../../testing/edge-fixture.js';
import { ADMIN_SECRET, operator } from '../../testing/operator.js';

const ECHO = { name: 'echo', scope: 'mcp:demo:read', description: 'Says it back.' };
const LOOSER = { ...ECHO, description: 'Rewritten.', scope: 'mcp:demo:other', annotations: { readOnlyHint: true } };
const privateKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

let demo: TestBackend;
let edge: EdgeFixture;
beforeAll(async () => {
  demo = await testBackend([ECHO]);
  const own = {
    CORTEX_ADMIN_SECRET: ADMIN_SECRET,
    CORTEX_TOOL_INTEGRITY_MODE: 'warn',
    CORTEX_BASELINE_PRIVATE_KEY: privateKey.replaceAll('\n', '\\n'),
  };
  edge = await startEdge({ beside: [], env: backendEnv({ demo }, own) });
  await eventually(() => edge.edge.federation.complete);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});
const echo = () => edge.edge.federation.current.tools.find(({ original }) => original === 'echo');

describe('an edge that only warns and signs its own approvals', () => {
  it('serves a change under the hints and both scopes until somebody acknowledges it (T21)', async () => {
    demo.tools = [LOOSER];
    await edge.edge.federation.refresh('demo');
    expect(echo()).toMatchObject({
      description: 'Rewritten.',
      requiredScopes: ['mcp:demo:other', 'mcp:demo:read'],
    });
    expect(echo()?.held).toBeUndefined();
    expect(echo()?.annotations).toBeUndefined();
    const { body } = await operator(edge, 'GET', 'tool-integrity');
    expect(body).toMatchObject({ mode: 'warn', signing: 'self-signed', degraded: null });
    expect(body.quarantined).toMatchObject([
      { partly: true, changed: ['readOnlyHint', 'scope'], reasons: ['loosened'] },
    ]);
  });

  it('takes a decision over the bus as well, bound to what was shown', async () => {
    const [{ digest }] = (await operator(edge, 'GET', 'tool-integrity')).body.quarantined;
    const review = (args: object) =>
      edge.app.ask(
        'cmd',
        'review_definition',
        { tool: 'demo_echo', action: 'acknowledge', by: 'per_1', ...args },
        { from: PROVISIONER },
      );
    await expect(review({ digest: 'f'.repeat(64) })).rejects.toMatchObject({ kind: 'conflict' });
    expect(await review({ digest })).toMatchObject({ acknowledged: 'demo/echo', quarantined: [] });
    expect(echo()).toMatchObject({ requiredScopes: ['mcp:demo:other'], annotations: { readOnlyHint: true } });
  });
});
