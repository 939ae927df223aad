import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient } from '../testing/raw-client.js';
import { sampleService } from '../testing/sample-tools.js';

const LONG = `Reads a ${'very '.repeat(40)}long page.`;
const backend = async (id: string, descriptions: Record<string, string>): Promise<TestBackend> => {
  const scope = `mcp:${id}:use`;
  const made = await testBackend(
    Object.entries(descriptions).map(([name, description]) => ({
      name,
      description,
      scope,
      params: { page: 'string' },
      outputSchema: { type: 'object', properties: { text: { type: 'string' } } },
      annotations: { readOnlyHint: true },
      version: '2.1.0',
    })),
  );
  made.answers['list_prompts'] = () => ({ prompts: [{ name: 'p', description: 'P.', scope }] });
  made.answers['list_resources'] = () => ({ resources: [{ uri: `${id}://r`, name: 'R', scope }] });
  made.answers['list_resource_templates'] = () => ({
    resourceTemplates: [{ uriTemplate: `${id}://t/{x}`, name: 'T', scope }],
  });
  made.answers['read'] = ({ params }) => params;
  return made;
};

let backends: Record<'docs' | 'crm', TestBackend>;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  backends = {
    docs: await backend('docs', { read: 'Reads a page. Give its name.', 'read all': LONG }),
    crm: await backend('crm', { find: 'Finds a customer.' }),
  };
  edge = await startEdge({ beside: [sampleService], env: backendEnv(backends) });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope: 'mcp:cortex:read mcp:docs:use mcp:crm:use' });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await Promise.all(Object.values(backends).map((one) => one[Symbol.asyncDispose]()));
});

type Listed = { name: string; description: string; uri?: string; uriTemplate?: string };
interface How {
  headers?: Record<string, string>;
  query?: string;
}
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
const modern = async (method: string, { headers = {}, query = '' }: How) => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const own = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers };
  const asked = { path: `/mcp${query}`, headers: own, body: rpc(method, { _meta }) };
  return (await rawClient(edge.origin, token).ask(asked)).json.result;
};
const legacy = async (method: string, { headers = {}, query = '' }: How) =>
  (await rawClient(edge.origin, token).ask({ path: `/mcp${query}`, headers, body: rpc(method, {}) })).json.result;

const BUILTINS = [
  'whoami',
  'list_cortex_resources',
  'read_cortex_resource',
  'report_missing_capability',
  'list_cortex_tickets',
];

describe.each([
  ['2026-07-28', modern],
  ['an older revision', legacy],
])('in %s', (_era, ask) => {
  const tools = async (how: How): Promise<Listed[]> => (await ask('tools/list', how)).tools;
  const names = async (how: How): Promise<string[]> => (await tools(how)).map(({ name }) => name);
  const only = (shelves: string): How => ({ headers: { 'x-cortex-backends': shelves } });
  const federated = (all: string[]): string[] => all.filter((name) => /^(docs|crm)_/.test(name));

  describe('X-Cortex-Backends', () => {
    it('cuts the list of tools to these backends and the built-ins', async () => {
      const all = await names(only('docs'));
      expect(all.slice(0, BUILTINS.length)).toEqual(BUILTINS);
      expect(federated(all)).toEqual(['docs_read', expect.stringMatching(/^docs_read_all_[0-9a-f]{8}$/)]);
      expect(all).not.toContain('sample_echo');
      expect(federated(await names(only('crm, docs')))).toHaveLength(3);
    });

    it.each([' DOCS ', 'docs,nobody', 'docs,,docs'])('takes %j for docs', async (value) => {
      expect(await names(only(value))).toEqual(await names(only('docs')));
    });

    it.each(['', ' ', ',', 'nobody'])('leaves the built-ins alone for %j', async (value) => {
      const all = await names(only(value));
      expect(all).toEqual(expect.arrayContaining(BUILTINS));
      expect(all.filter((name) => /^(docs|crm|sample)_/.test(name))).toEqual([]);
    });

    it('P40 says how many tools it hides of those that the caller may use, and of no other', async () => {
      const [all, some] = [await ask('tools/list', {}), await ask('tools/list', only('docs'))];
      const hidden = all.tools.length - some.tools.length;
      expect(some._meta['cortex/hidden']).toEqual({ tools: hidden, by: 'X-Cortex-Backends' });
      expect(all._meta?.['cortex/hidden']).toBeUndefined();
      const every = await ask('tools/list', only('docs,crm,agent,workspace'));
      expect(every._meta?.['cortex/hidden']).toBeUndefined();
    });

    it('counts Cortex`s own tools as a backend called workspace', async () => {
      const all = await names(only('workspace'));
      expect([all.includes('sample_echo'), federated(all)]).toEqual([true, []]);
    });

    it('cuts prompts, resources and templates too', async () => {
      expect((await ask('prompts/list', only('crm'))).prompts.map(({ name }: Listed) => name)).toEqual(['crm_p']);
      const { resources } = await ask('resources/list', only('crm'));
      expect(resources.map(({ uri }: Listed) => uri)).toEqual(['cortex://architecture', 'crm://r']);
      const { resourceTemplates } = await ask('resources/templates/list', only('crm'));
      expect(resourceTemplates.map(({ uriTemplate }: Listed) => uriTemplate)).toEqual(['crm://t/{x}']);
    });
  });

  describe('X-Cortex-Tool-Mode: search', () => {
    const search: How = { headers: { 'x-cortex-tool-mode': 'search' } };

    it('gives of each tool a line, and of the built-ins all, find_tools among them', async () => {
      const all = await tools(search);
      expect(all.slice(0, 6).map(({ name }) => name)).toEqual([...BUILTINS, 'find_tools']);
      const docs = all.filter(({ name }) => name.startsWith('docs_'));
      expect(docs[0]).toEqual({
        name: 'docs_read',
        description: '[docs] Reads a page.',
        inputSchema: { type: 'object' },
        _meta: { version: '2.1.0', app: 'docs', 'cortex/name': 'read' },
      });
      expect(docs[1]?.description).toMatch(/^\[docs\] Reads a (very )+/);
      expect(Array.from(docs[1]?.description ?? '').length).toBeLessThanOrEqual('[docs] '.length + 120);
      expect(all.find(({ name }) => name === 'sample_echo')).toEqual({
        name: 'sample_echo',
        description: '[workspace] Gives the text back.',
        inputSchema: { type: 'object' },
      });
      const found = all.find(({ name }) => name === 'find_tools');
      expect(found).toMatchObject({ inputSchema: { properties: { names: {}, query: {} } } });
    });

    it('is not taken for anything else than search', async () => {
      const plain = await names({});
      expect(await names({ headers: { 'x-cortex-tool-mode': 'fast' } })).toEqual(plain);
      expect(plain).not.toContain('find_tools');
      expect(await names({ headers: { 'x-cortex-tool-mode': 'SEARCH' } })).toContain('find_tools');
    });

    it('combines with the backends', async () => {
      const both = await tools({ headers: { 'x-cortex-tool-mode': 'search', 'x-cortex-backends': 'docs' } });
      expect(federated(both.map(({ name }) => name))).toHaveLength(2);
      expect(both.find(({ name }) => name === 'docs_read')?.description).toBe('[docs] Reads a page.');
    });
  });

  it('the URL of the connection says the same, and a header wins', async () => {
    const query = '?backends=docs&mode=search&schema=basic';
    expect(await tools({ query })).toEqual(
      await tools({
        headers: { 'x-cortex-tool-mode': 'search', 'x-cortex-backends': 'docs', 'x-cortex-schema-profile': 'basic' },
      }),
    );
    expect(federated(await names({ query, headers: { 'x-cortex-backends': 'crm' } }))).toEqual(['crm_find']);
    expect(await names({ query, headers: { 'x-cortex-tool-mode': 'normal' } })).not.toContain('find_tools');
    expect((await ask('prompts/list', { query: '?backends=crm' })).prompts).toHaveLength(1);
    expect(federated(await names({ query: '?backends=' }))).toEqual([]);
  });
});

describe('neither is an access control', () => {
  const headers = { 'x-cortex-backends': 'crm', 'x-cortex-tool-mode': 'search' };

  it('what is not listed can be called where the scope permits it, and only there', async () => {
    const { body } = await edge.call('docs_read', { page: 'a' }, { token, headers });
    expect(body.result.content).toEqual([{ type: 'text', text: '{"page":"a"}' }]);
    const stranger = await edge.token({ scope: 'mcp:crm:use' });
    expect((await edge.call('docs_read', { page: 'a' }, { token: stranger, headers })).status).toBe(403);
  });

  it('and find_tools finds what the backends of the header leave out', async () => {
    const { structuredContent } = (await edge.call('find_tools', { query: 'a page' }, { token, headers })).body.result;
    expect(structuredContent.tools.map(({ name }: Listed) => name)).toEqual(['docs_read']);
  });
});
