import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { listen } from '../testing/listen.js';
import { rawClient } from '../testing/raw-client.js';

const scope = 'mcp:demo:read';
const NOTE = { uri: 'demo://note', name: 'Note', scope };
const VAULT = { uri: 'demo://vault', name: 'Vault', scope: 'mcp:demo:admin' };
const prompt = (name: string, of = scope) => ({ name, description: name, scope: of });
const WANTED = { promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [NOTE.uri, VAULT.uri] };

let demo: TestBackend;
let edge: EdgeFixture;
let token: string;
let prompts: object[];
let resources: object[];
beforeAll(async () => {
  demo = await testBackend([]);
  prompts = [prompt('first')];
  resources = [NOTE, VAULT];
  demo.answers['list_prompts'] = () => ({ prompts });
  demo.answers['list_resources'] = () => ({ resources });
  edge = await startEdge({ beside: [], env: backendEnv({ demo }) });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

/** Both lists change for those who may see all of them; the second time, for all. */
async function change(of: string): Promise<void> {
  prompts = [...prompts, prompt(`p${prompts.length}`, of)];
  resources = [...resources, { uri: `demo://r${resources.length}`, name: 'R', scope: of }];
  await edge.edge.federation.refresh();
}
const touch = (uri: string): void => {
  const { backend } = edge.edge.federation.shelves.get('demo')!;
  edge.edge.federation.resourceUpdated(backend, uri);
};
const methodsOf = (events: { method?: string; params?: { uri?: string } }[]): unknown[] =>
  events.map(({ method = '', params }) => [method.replace('notifications/', ''), params?.uri]);

describe('a change of what backends offer', () => {
  it('is told on a listen stream where its caller can see it, and of the resources that it subscribed to', async () => {
    await using stream = await listen(edge, token, WANTED);
    expect(stream.events[0].params.notifications.resourceSubscriptions).toEqual([NOTE.uri]);
    await change('mcp:demo:admin');
    touch(VAULT.uri);
    await change(scope);
    touch(NOTE.uri);
    touch('other://note');
    await eventually(() => stream.events.length >= 4);
    expect(methodsOf(stream.events.slice(1))).toEqual([
      ['prompts/list_changed', undefined],
      ['resources/list_changed', undefined],
      ['resources/updated', NOTE.uri],
    ]);
  });

  it('is told on the GET stream of a session, and P75 of no resource that its caller may not read', async () => {
    const raw = rawClient(edge.origin, token);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    const hello = await raw.ask({ body: { jsonrpc: '2.0', id: 0, method: 'initialize', params } });
    const headers = { 'mcp-session-id': String(hello.headers['mcp-session-id']) };
    const ask = async (method: string, uri?: string) =>
      (await raw.ask({ headers, body: { jsonrpc: '2.0', id: 1, method, params: { uri } } })).json;
    expect((await ask('resources/subscribe', NOTE.uri)).result).toEqual({});
    const stream = await raw.stream({ method: 'GET', headers });
    expect((await ask('resources/subscribe', VAULT.uri)).error).toMatchObject({
      code: -32002,
      data: { uri: VAULT.uri },
    });
    expect((await ask('resources/subscribe')).error.code).toBe(-32602);
    touch(VAULT.uri);
    touch(NOTE.uri);
    await change(scope);
    const told = () => methodsOf(stream.events.filter((event) => typeof event === 'object'));
    await eventually(() => told().length >= 3);
    expect(told()).toEqual([
      ['resources/updated', NOTE.uri],
      ['prompts/list_changed', undefined],
      ['resources/list_changed', undefined],
    ]);
    expect((await ask('resources/unsubscribe', NOTE.uri)).result).toEqual({});
    touch(NOTE.uri);
    await change(scope);
    await eventually(() => told().length >= 5);
    expect(told().slice(3)).toEqual([
      ['prompts/list_changed', undefined],
      ['resources/list_changed', undefined],
    ]);
    stream.close();
  });
});
