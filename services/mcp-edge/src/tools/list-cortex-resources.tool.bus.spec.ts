import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, type TestBackend, testBackend } from '../testing/backend.js';
import { type Ask, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

let demo: TestBackend;
let edge: EdgeFixture;
let reader: string;
beforeAll(async () => {
  demo = await testBackend();
  const scope = 'mcp:demo:read';
  demo.answers['list_resources'] = () => ({
    resources: [
      ...Array.from({ length: 5 }, (_, i) => ({ uri: `demo://n${i}`, name: `Note ${i}`, scope })),
      { uri: 'demo://vault', name: 'Vault', scope: 'mcp:demo:admin' },
    ],
  });
  demo.answers['list_resource_templates'] = () => ({
    resourceTemplates: [{ uriTemplate: 'demo://files/{name}', name: 'File', scope, title: 'A file' }],
  });
  edge = await startEdge({ beside: [], env: backendEnv({ demo }, { CORTEX_LIST_PAGE_SIZE: '2' }) });
  await eventually(() => edge.edge.federation.complete);
  reader = await edge.token({ scope });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const list = async (ask: Ask = {}) =>
  (await edge.call('list_cortex_resources', {}, { token: reader, ...ask })).body.result;
const uris = (resources: { uri: string }[]): string[] => resources.map(({ uri }) => uri);

describe('list_cortex_resources', () => {
  it('gives what the lists of resources and templates give, all of it at once', async () => {
    const { structuredContent, content } = await list();
    expect(content).toHaveLength(1);
    expect(JSON.parse(content[0].text)).toEqual(structuredContent);
    const { resources, resourceTemplates } = structuredContent;
    expect(uris(resources)).toEqual(['cortex://architecture', ...[0, 1, 2, 3, 4].map((i) => `demo://n${i}`)]);
    const first = (await edge.ask('resources/list', {}, { token: reader })).body.result;
    expect(first.resources).toEqual(resources.slice(0, 2));
    const templates = (await edge.ask('resources/templates/list', {}, { token: reader })).body.result;
    expect(resourceTemplates).toEqual(templates.resourceTemplates);
  });

  it('P63 shows what the caller`s scopes permit, and nothing else', async () => {
    const admin = await edge.token({ sub: 'admin', scope: 'mcp:demo:admin' });
    const { resources, resourceTemplates } = (await list({ token: admin })).structuredContent;
    expect([uris(resources), resourceTemplates]).toEqual([['cortex://architecture', 'demo://vault'], []]);
  });

  it('is cut to the backends that the request asks for, like the lists', async () => {
    const { resources } = (await list({ headers: { 'x-cortex-backends': 'other' } })).structuredContent;
    expect(uris(resources)).toEqual(['cortex://architecture']);
  });
});
