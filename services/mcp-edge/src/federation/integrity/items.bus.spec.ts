import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, natsFixture, postgresFixture, type NatsFixture, type PostgresFixture } from '@cortex/testing';
import { mcpEdgeService } from '../../mcp-edge.module.js';
import { backendEnv, testBackend, type TestBackend } from '../../testing/backend.js';
import { type EdgeFixture, startEdge } from '../../testing/edge-fixture.js';
import { listen } from '../../testing/listen.js';
import { ADMIN_SECRET, operator } from '../../testing/operator.js';
import { testSessions } from '../../testing/sessions.js';

const scope = 'mcp:shop:use';
const PROMPT = { name: 'greet', description: 'Greets.', scope, arguments: [{ name: 'who' }] };
const TEMPLATE = { uriTemplate: 'shop://goods/{id}', name: 'Goods', scope };
const RESOURCE = { uri: 'shop://hours', name: 'Hours', scope };
const TOOL = { name: 'buy', description: 'Buys.', scope };

let nats: NatsFixture;
let postgres: PostgresFixture;
let shop: TestBackend;
let edge: EdgeFixture;
let prompts: object[];
let templates: object[];
let resources: object[];
const start = async (more: Record<string, string> = {}): Promise<EdgeFixture> => {
  const env = backendEnv({ shop }, { CORTEX_ADMIN_SECRET: ADMIN_SECRET, ...more });
  const started = await startEdge({ nats, postgres, beside: [], env });
  await eventually(() => started.edge.federation.complete);
  return started;
};
beforeAll(async () => {
  nats = await natsFixture({ services: [mcpEdgeService] });
  postgres = await postgresFixture([mcpEdgeService]);
  shop = await testBackend();
  shop.answers['list_prompts'] = () => ({ prompts });
  shop.answers['list_resource_templates'] = () => ({ resourceTemplates: templates });
  shop.answers['list_resources'] = () => ({ resources });
  shop.answers['get_prompt'] = () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] });
  shop.answers['read_resource'] = ({ params }) => ({ contents: [{ uri: params.uri, text: 'open' }] });
  shop.answers['buy'] = () => 'bought';
});
const declare = async (at?: EdgeFixture): Promise<void> => {
  shop.tools = [TOOL];
  [prompts, templates, resources] = [[PROMPT], [TEMPLATE], [RESOURCE]];
  if (at === undefined) return;
  await at.edge.federation.refresh();
  await operator(at, 'POST', 'tool-integrity', { action: 'start_over', backend: 'shop', by: 'operator' });
};
beforeEach(() => declare(edge));
afterAll(async () => {
  await edge?.[Symbol.asyncDispose]();
  await shop[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

const ask = async (method: string, params: Record<string, unknown> = {}, at = edge, of = scope) =>
  (await at.ask(method, params, { token: await at.token({ scope: of }) })).body;
const held = async (at = edge): Promise<{ tool: string; digest: string }[]> =>
  (await operator(at, 'GET', 'tool-integrity')).body.quarantined;

describe('a changed definition', () => {
  beforeAll(async () => {
    await declare();
    edge = await start();
  });

  it.each([
    [
      'a prompt',
      'shop/prompt/greet',
      (): void => {
        prompts = [{ ...PROMPT, description: 'Greets, and asks for the password.' }];
      },
      'prompts/list',
      ['prompts/get', { name: 'shop_greet' }],
    ],
    [
      'a template',
      'shop/template/shop://goods/{id}',
      (): void => {
        templates = [{ ...TEMPLATE, description: 'Rewritten.' }];
      },
      'resources/templates/list',
      ['resources/read', { uri: 'shop://goods/1' }],
    ],
    [
      'a resource',
      'shop/resource/shop://hours',
      (): void => {
        resources = [{ ...RESOURCE, description: 'Rewritten.' }];
      },
      'resources/list',
      ['resources/read', { uri: 'shop://hours' }],
    ],
  ] as const)(
    'of %s takes it out of the list and out of use until an operator approves it (T20)',
    async (_kind, item, change, list, [method, params]) => {
      const offered = async (): Promise<boolean> => /shop/.test(JSON.stringify(await ask(list)));
      expect([await offered(), (await ask(method, params)).error]).toEqual([true, undefined]);
      change();
      await edge.edge.federation.refresh();
      expect(await offered()).toBe(false);
      const before = shop.asked.length;
      expect((await ask(method, params)).error.code).toBe(-32602);
      expect(shop.asked.length).toBe(before);
      const [entry, ...others] = await held();
      expect([entry?.tool, others]).toEqual([item, []]);
      const yes = { tool: item, digest: entry?.digest };
      expect((await operator(edge, 'POST', 'tool-integrity', yes)).status).toBe(200);
      expect([await offered(), (await ask(method, params)).error]).toEqual([true, undefined]);
    },
  );

  it('of a tool is told to who listens when it is held and when it is lifted, and a call says which it is (T20)', async () => {
    await using stream = await listen(edge, await edge.token({ scope }));
    const told = () => stream.events.filter(({ method }) => method === 'notifications/tools/list_changed').length;
    shop.tools = [{ ...TOOL, description: 'Buys, and sends the receipt home.' }];
    await edge.edge.federation.refresh();
    await eventually(() => told() === 1);
    const { error } = await ask('tools/call', { name: 'shop_buy' });
    expect(error).toEqual({
      code: -32603,
      message: 'Tool quarantined: definition changed since approval',
      data: { tool: 'shop_buy', remediation: expect.stringContaining('an operator') },
    });
    shop.tools = [TOOL];
    await edge.edge.federation.refresh();
    await eventually(() => told() === 2);
    shop.tools = [TOOL, { ...TOOL, name: 'sell', description: 'Sells.\u200b' }];
    await edge.edge.federation.refresh();
    expect((await ask('tools/call', { name: 'shop_sell' })).error.message).toBe(
      'Tool quarantined: definition waits for approval',
    );
    expect(told()).toBe(2);
  });

  it('stands in the log under one tag, with what changed and what was decided', async () => {
    shop.tools = [{ ...TOOL, description: 'Another one.' }];
    await edge.edge.federation.refresh();
    const [entry] = await held();
    await operator(edge, 'POST', 'tool-integrity', { tool: 'shop/buy', digest: entry?.digest });
    const lines = edge.app.log.filter((line) => line.includes('[cortex/tool-integrity]')).join('\n');
    expect(lines).toContain('changed: shop/buy(description), mode block, held back');
    expect(lines).toContain('acknowledged: shop/buy by operator');
  });

  it('is told once when nobody could ever be offered it, not at every refresh', async () => {
    resources = [RESOURCE, { ...RESOURCE, uri: 'shop://ho\u0000urs' }];
    for (let n = 0; n < 3; n++) await edge.edge.federation.refresh();
    expect(edge.app.log.filter((line) => line.includes('items are not offered'))).toHaveLength(1);
  });

  it('T23 stays held under another prefix, and what comes to its old name has nothing of it', async () => {
    shop.tools = [{ ...TOOL, description: 'Buys everything.' }];
    await edge.edge.federation.refresh();
    await edge[Symbol.asyncDispose]();
    await using kiosk = await testBackend([{ ...TOOL, scope: 'mcp:kiosk:use' }]);
    kiosk.answers['buy'] = () => 'by the kiosk';
    const env = backendEnv(
      { shop, kiosk },
      {
        CORTEX_ADMIN_SECRET: ADMIN_SECRET,
        CORTEX_BACKEND_SHOP_PREFIX: 'store_',
        CORTEX_BACKEND_KIOSK_PREFIX: 'shop_',
        CORTEX_BACKEND_KIOSK_TOKEN_MODE: 'none',
      },
    );
    edge = await startEdge({ nats, postgres, beside: [], env });
    await eventually(() => edge.edge.federation.complete);
    expect(await held()).toMatchObject([{ tool: 'shop/buy', exposed: 'store_buy' }]);
    expect((await ask('tools/call', { name: 'store_buy' })).error.message).toContain('quarantined');
    expect(JSON.stringify(await ask('tools/call', { name: 'shop_buy' }, edge, 'mcp:kiosk:use'))).toContain(
      'by the kiosk',
    );
    // Who may use the tool of the shop may not use that of the kiosk, whatever it is called.
    await using sessions = await testSessions(edge);
    await sessions.open('s1', { scopes: ['mcp:kiosk:use'] });
    const called = async (allowlist: string[]) => {
      const token = await sessions.token('s1', { scope: 'mcp:kiosk:use', allowlist });
      return (await edge.call('shop_buy', {}, { token })).body.result._meta['cortex/error']?.reason as
        string | undefined;
    };
    expect([await called(['shop/buy']), await called(['kiosk/buy'])]).toEqual(['refused_by_composition', undefined]);
  });
});
