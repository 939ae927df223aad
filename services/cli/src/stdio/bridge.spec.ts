import { describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing/eventually';
import { Bridged, MODERN } from '../testing/bridged.js';
import { json, result, ScriptedGateway, stream } from '../testing/scripted-gateway.js';

describe('a line of the client', () => {
  it('that is no JSON is answered with a parse error without an id', async () => {
    await using gateway = await ScriptedGateway.start((_, res) => void res.destroy());
    await using client = new Bridged(gateway.url);
    client.say('{"jsonrpc":');
    expect(client.messages).toEqual([{ jsonrpc: '2.0', error: { code: -32700, message: expect.any(String) } }]);
  });

  it.each([
    ['42', undefined],
    ['[]', undefined],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', undefined],
    ['{"jsonrpc":"2.0","id":7}', 7],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', undefined],
  ])('that is no message, %s, is refused here', async (line, id) => {
    await using gateway = await ScriptedGateway.start((_, res) => void res.destroy());
    await using client = new Bridged(gateway.url);
    client.say(line);
    expect(client.messages).toEqual([
      { jsonrpc: '2.0', ...(id && { id }), error: { code: -32600, message: expect.any(String) } },
    ]);
    expect(gateway.seen).toEqual([]);
  });

  it('that is longer than a gateway takes is refused, and the next one is served', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => result(res, seen));
    await using client = new Bridged(gateway.url);
    client.bridge.refuseLong();
    const error = { code: -32600, message: expect.stringContaining('more than 16777216 bytes') };
    expect(client.messages).toEqual([{ jsonrpc: '2.0', error }]);
    client.askModern(1, 'tools/list');
    expect(await client.answer(1)).toMatchObject({ id: 1, result: {} });
  });

  it('that is empty is nothing', async () => {
    await using gateway = await ScriptedGateway.start((_, res) => void res.destroy());
    await using client = new Bridged(gateway.url);
    client.say('  \r');
    expect(client.lines).toEqual([]);
  });
});

describe('an answer of the gateway', () => {
  it('goes through as it was written, on one line', async () => {
    const body = '{"jsonrpc":"2.0",\n "id":1,\r\n "result":{"n":12345678901234567890, "text":"a\\nb\u2028c"}}\n';
    await using gateway = await ScriptedGateway.start((_, res) => json(res, body));
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/call', { name: 'a' });
    await client.answer(1);
    expect(client.lines).toEqual([
      '{"jsonrpc":"2.0",  "id":1,  "result":{"n":12345678901234567890, "text":"a\\nb\u2028c"}}',
    ]);
  });

  it('that is a stream of events is unpacked', async () => {
    await using gateway = await ScriptedGateway.start(({ message: { id } }, res) => {
      const send = stream(res);
      send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } });
      send({ jsonrpc: '2.0', id, result: {} });
      res.end();
    });
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/call', { name: 'a' });
    await client.answer(1);
    expect(client.messages.map(({ method, id }) => method ?? id)).toEqual(['notifications/progress', 1]);
  });

  it('that names no id gets the id of whoever waits', async () => {
    const error = { code: 429, message: 'Rate limit exceeded' };
    await using gateway = await ScriptedGateway.start((_, res) => json(res, { jsonrpc: '2.0', error }, 429));
    await using client = new Bridged(gateway.url);
    client.askModern('a', 'tools/list');
    expect(await client.answer('a')).toEqual({ jsonrpc: '2.0', id: 'a', error });
  });

  it.each<[what: string, status: number, body: string, said: string]>([
    [
      'the refusal of a token',
      401,
      '{"error":"invalid_token","error_description":"token is expired"}',
      'token is expired (HTTP 401)',
    ],
    ['the page of a proxy', 502, '<html>Bad Gateway</html>', 'HTTP 502 with what is no JSON-RPC: \\"<html>'],
    ['a redirect', 307, '', 'not at this address'],
    ['JSON of something else', 200, '{"hello":"world"}', 'no JSON-RPC'],
    ['an answer to another request', 200, '{"jsonrpc":"2.0","id":"other","result":{}}', 'no JSON-RPC'],
    ['nothing', 202, '', 'without one'],
  ])('that is %s becomes an error for whoever waits', async (_what, status, body, said) => {
    await using gateway = await ScriptedGateway.start((_, res) => json(res, body, status));
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/list');
    const { error } = await client.answer(1);
    expect(error.code).toBe(-32603);
    expect(JSON.stringify(error.message)).toContain(said);
  });

  it('P05 that is cut off becomes an error which says that the outcome is not known, and nothing is sent again', async () => {
    await using gateway = await ScriptedGateway.start((_, res) => {
      stream(res)({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } });
      setImmediate(() => res.destroy());
    });
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/call', { name: 'a' });
    expect((await client.answer(1)).error).toMatchObject({
      code: -32603,
      message: expect.stringContaining('not known'),
    });
    expect(gateway.seen).toHaveLength(1);
  });

  it('that cannot be had at all becomes an error', async () => {
    const gateway = await ScriptedGateway.start((_, res) => void res.destroy());
    await using client = new Bridged(gateway.url);
    await gateway[Symbol.asyncDispose]();
    client.askModern(1, 'tools/list');
    expect((await client.answer(1)).error.message).toContain('cannot be reached');
  });

  it('P03 is waited for where nobody listens for a moment', async () => {
    const before = await ScriptedGateway.start((_, res) => void res.destroy());
    await using client = new Bridged(before.url);
    const port = Number(before.url.port);
    await before[Symbol.asyncDispose]();
    client.askModern(1, 'tools/list');
    await using _after = await ScriptedGateway.start((seen, res) => result(res, seen), port);
    expect(await client.answer(1)).toMatchObject({ result: {} });
  });

  it('to a notification is written to nobody', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) =>
      seen.message.id === undefined
        ? void res.writeHead(seen.message.method === 'a' ? 202 : 204).end()
        : result(res, seen),
    );
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/list');
    await client.answer(1);
    client.notify('a');
    client.notify('b');
    await client.bridge.end(10_000);
    expect(client.lines).toHaveLength(1);
    expect(gateway.asked('a')[0]?.headers['mcp-protocol-version']).toBe(MODERN);
    expect(gateway.asked('b')).toHaveLength(1);
  });
});

describe('requests', () => {
  it('run beside each other', async () => {
    let first: (() => void) | undefined;
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (seen.message.id === 1) first = () => result(res, seen);
      else result(res, seen);
    });
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/call', { name: 'slow' });
    await eventually(() => first !== undefined);
    client.askModern(2, 'tools/list');
    await client.answer(2);
    first?.();
    await client.answer(1);
  });

  it('keep the type of their ids', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) =>
      result(res, seen, { for: typeof seen.message.id }),
    );
    await using client = new Bridged(gateway.url);
    client.askModern(1, 'tools/list');
    client.askModern('1', 'tools/list');
    expect((await client.answer(1)).result).toEqual({ for: 'number' });
    expect((await client.answer('1')).result).toEqual({ for: 'string' });
  });

  it('under way are waited for at the end, and a subscription is not', async () => {
    let finish: (() => void) | undefined;
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (seen.message.method === 'subscriptions/listen')
        stream(res)({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged' });
      else finish = () => result(res, seen);
    });
    const client = new Bridged(gateway.url);
    client.askModern('l', 'subscriptions/listen', { notifications: {} });
    client.askModern(1, 'tools/call', { name: 'slow' });
    await eventually(() => finish !== undefined && client.lines.length === 1);
    const ended = client.bridge.end(60_000);
    await eventually(() => gateway.asked('subscriptions/listen')[0]?.left === true);
    finish?.();
    await ended;
    expect(client.messages.map(({ id, method }) => id ?? method)).toEqual([
      'notifications/subscriptions/acknowledged',
      1,
    ]);
  });
});
