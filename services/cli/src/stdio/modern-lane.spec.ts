import { describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing/eventually';
import { Bridged, META, MODERN } from '../testing/bridged.js';
import { json, result, ScriptedGateway, stream } from '../testing/scripted-gateway.js';

const tool = (region: object) => ({ name: 'deploy', inputSchema: { type: 'object', properties: { region } } });
const withRegion = tool({ type: 'string', 'x-mcp-header': 'Region' });

describe('the headers of a request of the stateless era', () => {
  it('repeat its revision, its method and its name', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => result(res, seen));
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/call', { name: 'a' });
    client.askModern(2, 'prompts/get', { name: 'b' });
    client.askModern(3, 'resources/read', { uri: 'demo://c' });
    client.askModern(4, 'tools/list');
    for (const id of [1, 2, 3, 4]) await client.answer(id);
    const sent = gateway.seen
      .toSorted((a, b) => a.message.id - b.message.id)
      .map(({ headers }) => [headers['mcp-protocol-version'], headers['mcp-method'], headers['mcp-name']]);
    expect(sent).toEqual([
      [MODERN, 'tools/call', 'a'],
      [MODERN, 'prompts/get', 'b'],
      [MODERN, 'resources/read', 'demo://c'],
      [MODERN, 'tools/list', undefined],
    ]);
    expect(gateway.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer token',
      accept: 'application/json, text/event-stream',
    });
    expect(gateway.seen.some(({ headers }) => headers['mcp-session-id'])).toBe(false);
  });

  it.each(['größe', ' a', 'a\tb\n', '=?base64?YQ==?='])(
    'carry the name %j in the form for what no header can',
    async (name) => {
      await using gateway = await ScriptedGateway.start((seen, res) => result(res, seen));
      await using client = new Bridged(gateway.url);
      client.askModern(1, 'tools/call', { name });
      await client.answer(1);
      const [, encoded = ''] = /^=\?base64\?(.*)\?=$/.exec(String(gateway.seen[0]?.headers['mcp-name'])) ?? [];
      expect(Buffer.from(encoded, 'base64').toString()).toBe(name);
    },
  );

  it('repeat the parameters that a list has annotated', async () => {
    const number = { type: 'integer', 'x-mcp-header': 'Count' };
    const nested = { type: 'object', properties: { dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' } } };
    const listed = {
      ...withRegion,
      inputSchema: { type: 'object', properties: { number, nested, ...withRegion.inputSchema.properties } },
    };
    await using gateway = await ScriptedGateway.start((seen, res) =>
      result(res, seen, seen.message.method === 'tools/list' ? { tools: [listed] } : {}),
    );
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/list');
    await client.answer(1);
    client.askModern(2, 'tools/call', {
      name: 'deploy',
      arguments: { region: 'Zürich', number: 42, nested: { dry: false } },
    });
    client.askModern(3, 'tools/call', { name: 'deploy', arguments: { region: null } });
    await Promise.all([client.answer(2), client.answer(3)]);
    const of = (id: number) => gateway.seen.find(({ message }) => message.id === id)?.headers;
    expect(of(2)).toMatchObject({
      'mcp-param-region': `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
      'mcp-param-count': '42',
      'mcp-param-dry-run': 'false',
    });
    expect(Object.keys(of(3) ?? {}).filter((name) => name.startsWith('mcp-param-'))).toEqual([]);
  });

  it('are learnt from every page of the list where the client never asked for it', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => {
      const { method, params, id } = seen.message;
      if (method === 'tools/list')
        return result(res, seen, params.cursor === 'p2' ? { tools: [withRegion] } : { tools: [], nextCursor: 'p2' });
      if (seen.headers['mcp-param-region'] === 'eu') return result(res, seen, { ok: true });
      json(res, { jsonrpc: '2.0', id, error: { code: -32020, message: 'Header Mcp-Param-Region is missing' } }, 400);
    });
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/call', { name: 'deploy', arguments: { region: 'eu' } });
    expect(await client.answer(1)).toMatchObject({ result: { ok: true } });
    expect(
      gateway.asked('tools/list').map(({ headers, message }) => [headers['x-cortex-tool-mode'], message.params._meta]),
    ).toEqual([
      ['full', META],
      ['full', META],
    ]);
    expect(client.lines).toHaveLength(1);
  });

  it('that do not help are refused once', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (seen.message.method === 'tools/list') return result(res, seen, { tools: [] });
      json(res, { jsonrpc: '2.0', id: seen.message.id, error: { code: -32020, message: 'no' } }, 400);
    });
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/call', { name: 'deploy' });
    expect((await client.answer(1)).error).toEqual({ code: -32020, message: 'no' });
    expect(gateway.asked('tools/call')).toHaveLength(2);
  });
});

describe('a cancellation', () => {
  it('ends the exchange of the request, and nothing more is written for it', async () => {
    await using gateway = await ScriptedGateway.start((_, res) => {
      stream(res)({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } });
    });
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/call', { name: 'slow' });
    await eventually(() => client.lines.length === 1);
    client.notify('notifications/cancelled', { requestId: 1 });
    await eventually(() => gateway.seen[0]?.left === true);
    await client.bridge.end(10_000);
    expect(client.lines).toHaveLength(1);
    expect(gateway.asked('notifications/cancelled')).toEqual([]);
  });

  it('of what has ended does nothing', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => result(res, seen));
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/list');
    await client.answer(1);
    client.notify('notifications/cancelled', { requestId: 1 });
    await client.bridge.end(10_000);
    expect(gateway.seen).toHaveLength(1);
  });
});

describe('a subscription', () => {
  const acknowledged = {
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: {} },
  };

  it('that the gateway ends gives its result, and then a cancellation with its id', async () => {
    await using gateway = await ScriptedGateway.start(({ message: { id } }, res) => {
      const send = stream(res);
      send(acknowledged);
      send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      send({ jsonrpc: '2.0', id, result: { resultType: 'complete' } });
      res.end();
    });
    await using client = new Bridged(gateway.url);
    client.askModern('l1', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
    await eventually(() => client.lines.length === 4);
    expect(client.messages.slice(2)).toEqual([
      { jsonrpc: '2.0', id: 'l1', result: { resultType: 'complete' } },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'l1' } },
    ]);
  });

  it('that is refused gives its error alone', async () => {
    await using gateway = await ScriptedGateway.start(({ message: { id } }, res) =>
      json(res, { jsonrpc: '2.0', id, error: { code: -32602, message: 'notifications is missing' } }),
    );
    await using client = new Bridged(gateway.url);
    client.askModern('l1', 'subscriptions/listen');
    await client.answer('l1');
    await client.bridge.end(10_000);
    expect(client.lines).toHaveLength(1);
  });

  it('whose connection is lost gives an error, so that the client listens again', async () => {
    await using gateway = await ScriptedGateway.start((_, res) => {
      stream(res)(acknowledged);
      setImmediate(() => res.destroy());
    });
    await using client = new Bridged(gateway.url);
    client.askModern('l1', 'subscriptions/listen', { notifications: {} });
    expect((await client.answer('l1')).error.code).toBe(-32603);
  });

  it('that the client cancels is closed without a word', async () => {
    await using gateway = await ScriptedGateway.start((_, res) => stream(res)(acknowledged));
    await using client = new Bridged(gateway.url);
    client.askModern('l1', 'subscriptions/listen', { notifications: {} });
    await eventually(() => client.lines.length === 1);
    client.notify('notifications/cancelled', { requestId: 'l1' });
    await eventually(() => gateway.seen[0]?.left === true);
    await client.bridge.end(10_000);
    expect(client.lines).toHaveLength(1);
  });
});
