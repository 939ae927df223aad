import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient } from '../testing/raw-client.js';
import { testSessions } from '../testing/sessions.js';

const URI = 'cortex://architecture';
const tool = (name: string, scope: string) => ({ name, scope, description: 'Does it.' });

let backends: Record<'docs' | 'away', TestBackend>;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  backends = {
    docs: await testBackend([tool('a', 'mcp:docs:read'), tool('b', 'mcp:docs:read'), tool('c', 'mcp:docs:admin')]),
    away: await testBackend(),
  };
  await backends.away.shut();
  // Of an operator's name only the words are shown.
  const env = { ...backendEnv(backends), CORTEX_SERVER_NAME: 'cortex-gateway `#_<' };
  edge = await startEdge({ beside: [], env });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope: 'mcp:docs:read', pool: 'blue', metadata: { role: 'dev`\n# Forged' } });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await Promise.all(Object.values(backends).map((one) => one[Symbol.asyncDispose]()));
});

const read = async (bearer = token): Promise<string> => {
  const { body } = await edge.ask('resources/read', { uri: URI }, { token: bearer });
  return String(body.result.contents[0].text);
};

describe('cortex://architecture', () => {
  it('is the first resource of every list, and is read without a scope in both eras', async () => {
    const bare = await edge.token({ scope: '' });
    const { resources } = (await edge.ask('resources/list', {}, { token: bare })).body.result;
    expect(resources[0]).toMatchObject({ uri: URI, mimeType: 'text/markdown' });
    const { result } = (await edge.ask('resources/read', { uri: URI }, { token: bare })).body;
    expect(result).toMatchObject({
      ttlMs: 0,
      cacheScope: 'private',
      contents: [{ uri: URI, mimeType: 'text/markdown' }],
    });
    const body = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: URI } };
    const { json } = await rawClient(edge.origin, bare).ask({ body });
    expect(json.result).toEqual({ contents: result.contents });
  });

  it('has its sections in their order', async () => {
    const headings = [...(await read()).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([
      'cortex-gateway',
      'Principle',
      'Three tiers',
      'From login to backend',
      'Federation',
      'Permissions are decentralised',
      'Current state',
      'Why it is built this way',
    ]);
  });

  it('tells issuer, resource and audience, the backends with what the reader sees of them, and who the reader is', async () => {
    const text = await read();
    for (const part of [
      edge.issuer.url,
      edge.url,
      '`alice`',
      '`blue`',
      '`mcp:docs:read`',
      '`2026-07-28`',
      '`2024-11-05`',
    ])
      expect(text).toContain(part);
    expect(text).toContain('- Healthy backends: `docs`\n- Unreachable backends: `away`');
    expect(text).toContain('| docs | healthy | passthrough | 2 |\n| away | unreachable | passthrough | 0 |');
    expect(text).toContain(`- Last refresh: ${edge.edge.federation.refreshedAt}`);
    const admin = await read(await edge.token({ sub: 'admin', scope: 'mcp:docs:admin' }));
    expect(admin).toContain('| docs | healthy | passthrough | 1 |');
    expect(admin).toContain('`admin`');
  });

  it('shows no URL of a backend and no token, and lets no claim write a heading', async () => {
    const text = await read();
    for (const { url } of Object.values(backends)) expect(text).not.toContain(new URL(url).port);
    expect(text).not.toContain(token);
    expect(text).not.toContain('technical-secret');
    expect(text).not.toMatch(/^# Forged/m);
  });

  it('follows the state of the backends', async () => {
    await backends.away.open();
    await edge.edge.federation.refresh();
    expect(await read()).toContain('- Healthy backends: `docs`, `away`\n- Unreachable backends: none');
    await backends.away.shut();
    await edge.edge.federation.refresh();
    expect(await read()).toContain('- Unreachable backends: `away`');
  });

  it('tells an agent which session it is', async () => {
    await using sessions = await testSessions(edge);
    await sessions.open('s1', { scopes: ['mcp:docs:read'] });
    expect(await read(await sessions.token('s1', { scope: 'mcp:docs:read' }))).toContain('- You are: the session `s1`');
  });
});
