import { describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing/eventually';
import { Bridged } from '../testing/bridged.js';
import { greeted, json, result, ScriptedGateway, stream } from '../testing/scripted-gateway.js';

describe('the handshake', () => {
  it('settles before anything else is sent; then its session and the negotiated revision go along', async () => {
    let finish: (() => void) | undefined;
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (seen.message?.method === 'initialize') finish = () => void greeted(seen, res, 's1', '2025-06-18');
      else if (!greeted(seen, res)) result(res, seen);
    });
    await using client = new Bridged(gateway.url);
    client.ask(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} });
    client.notify('notifications/initialized');
    client.ask(1, 'tools/list');
    await eventually(() => finish !== undefined);
    expect(gateway.seen).toHaveLength(1);
    finish?.();
    await client.answer(1);
    const posts = gateway.seen.filter(({ method }) => method === 'POST');
    expect(
      posts.map(({ message, headers }) => [message.method, headers['mcp-protocol-version'], headers['mcp-session-id']]),
    ).toEqual([
      ['initialize', undefined, undefined],
      ['notifications/initialized', '2025-06-18', 's1'],
      ['tools/list', '2025-06-18', 's1'],
    ]);
    expect(client.messages.map(({ id }) => id)).toEqual([0, 1]);
  });

  it('that is refused is told, and keeps nothing from being asked', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (seen.message?.method !== 'initialize') return result(res, seen);
      json(res, { jsonrpc: '2.0', id: seen.message.id, error: { code: -32022, message: 'modern alone' } }, 400);
    });
    await using client = new Bridged(gateway.url);
    client.ask(0, 'initialize', {});
    client.ask(1, 'ping');
    expect((await client.answer(0)).error.code).toBe(-32022);
    expect(await client.answer(1)).toMatchObject({ result: {} });
  });

  it('made a second time ends the session before', async () => {
    let n = 0;
    await using gateway = await ScriptedGateway.start(
      (seen, res) => void greeted(seen, res, `s${seen.message?.method === 'initialize' ? ++n : n}`),
    );
    await using client = new Bridged(gateway.url);
    await client.initialize();
    client.ask('again', 'initialize', {});
    await client.answer('again');
    expect(gateway.asked('DELETE').map(({ headers }) => headers['mcp-session-id'])).toEqual(['s1']);
  });
});

describe('the stream of the gateway', () => {
  it('is opened once the client is there, and its messages are written', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (seen.method === 'GET') stream(res)({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      else greeted(seen, res);
    });
    await using client = new Bridged(gateway.url);
    await client.initialize();
    await eventually(() => client.messages.some(({ method }) => method === 'notifications/tools/list_changed'));
    const [get] = gateway.asked('GET');
    expect(get?.headers).toMatchObject({
      accept: 'text/event-stream',
      'mcp-session-id': 's1',
      'mcp-protocol-version': '2025-11-25',
    });
  });

  it('is gone on with where it was lost', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (seen.method !== 'GET') return void greeted(seen, res);
      const send = stream(res);
      res.write('retry: 1\n\n');
      if (seen.headers['last-event-id'] === undefined) {
        send({ jsonrpc: '2.0', method: 'first' }, 'a-1');
        setImmediate(() => res.destroy());
      } else send({ jsonrpc: '2.0', method: 'second' }, 'a-2');
    });
    await using client = new Bridged(gateway.url);
    await client.initialize();
    await eventually(() => client.messages.some(({ method }) => method === 'second'));
    expect(gateway.asked('GET').map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'a-1']);
  });

  it('is not asked for again where there is none', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => void (greeted(seen, res) || result(res, seen)));
    await using client = new Bridged(gateway.url);
    await client.initialize();
    client.ask(1, 'ping');
    await client.answer(1);
    await client.bridge.end(10_000);
    expect(gateway.asked('GET').length).toBeLessThanOrEqual(1);
  });
});

describe('a question of the gateway', () => {
  it('reaches the client on the stream of its request, and the answer is posted', async () => {
    let finish: (() => void) | undefined;
    await using gateway = await ScriptedGateway.start((seen, res) => {
      const { message } = seen;
      if (message?.result !== undefined) {
        res.writeHead(202).end();
        return finish?.();
      }
      if (greeted(seen, res)) return;
      const send = stream(res);
      send({ jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params: {} });
      finish = () => {
        send({ jsonrpc: '2.0', id: message.id, result: {} });
        res.end();
      };
    });
    await using client = new Bridged(gateway.url);
    await client.initialize();
    client.ask(1, 'tools/call', { name: 'a' });
    await eventually(() => client.messages.some(({ method }) => method === 'elicitation/create'));
    client.say({ jsonrpc: '2.0', id: 'q1', result: { action: 'accept' } });
    await client.answer(1);
    const posted = gateway.seen.find(({ message }) => message?.result !== undefined);
    expect(posted?.headers['mcp-session-id']).toBe('s1');
  });
});

describe('a cancellation', () => {
  it('is told to the gateway, and an answer that comes all the same is not written', async () => {
    let late: (() => void) | undefined;
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (greeted(seen, res)) return;
      late = () => result(res, seen);
    });
    await using client = new Bridged(gateway.url);
    await client.initialize();
    client.ask(1, 'tools/call', { name: 'slow' });
    await eventually(() => late !== undefined);
    client.notify('notifications/cancelled', { requestId: 1 });
    await eventually(() => gateway.asked('notifications/cancelled').length === 1);
    late?.();
    await client.bridge.end(10_000);
    expect(client.messages.map(({ id }) => id)).toEqual(['init']);
  });
});

describe('a session that the gateway knows no more', () => {
  it('P03 is made anew, with what the client had set in it, and the request is sent again', async () => {
    let session = 1;
    await using gateway = await ScriptedGateway.start((seen, res) => {
      const { message, headers } = seen;
      const known = headers['mcp-session-id'] === undefined || headers['mcp-session-id'] === `s${session}`;
      if (!known) return json(res, { jsonrpc: '2.0', id: message?.id, error: { code: -32001, message: 'gone' } }, 404);
      if (!greeted(seen, res, `s${session}`)) result(res, seen, { session });
    });
    await using client = new Bridged(gateway.url);
    await client.initialize();
    client.ask(1, 'logging/setLevel', { level: 'error' });
    client.ask(2, 'resources/subscribe', { uri: 'demo://a' });
    client.ask(3, 'resources/subscribe', { uri: 'demo://b' });
    for (const id of [1, 2, 3]) await client.answer(id);
    client.ask(4, 'resources/unsubscribe', { uri: 'demo://a' });
    await client.answer(4);
    session = 2;
    const before = gateway.seen.length;
    client.ask(5, 'tools/list');
    client.ask(6, 'tools/list');
    expect((await client.answer(5)).result).toEqual({ session: 2 });
    expect((await client.answer(6)).result).toEqual({ session: 2 });
    const after = gateway.seen
      .slice(before)
      .filter(({ method, headers }) => method === 'POST' && headers['mcp-session-id'] !== 's1');
    expect(after.map(({ message }) => message.params?.uri ?? message.method)).toEqual([
      'initialize',
      'notifications/initialized',
      'logging/setLevel',
      'demo://b',
      'tools/list',
      'tools/list',
    ]);
    expect(client.messages.filter(({ id }) => id === 'init')).toHaveLength(1);
  });

  it('is told where it cannot be made anew', async () => {
    let gone = false;
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (gone && seen.message?.method === 'initialize') return json(res, { error: 'invalid_token' }, 401);
      if (gone) return json(res, {}, 404);
      greeted(seen, res);
    });
    await using client = new Bridged(gateway.url);
    await client.initialize();
    await eventually(() => gateway.asked('notifications/initialized').length === 1);
    gone = true;
    client.ask(1, 'ping');
    expect((await client.answer(1)).error.message).toContain('invalid_token');
  });
});

describe('a stream that ends before the answer is in it', () => {
  it('is gone on with by its last id, until the answer comes', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => {
      const after = seen.headers['last-event-id'];
      if (seen.method === 'GET' && after === undefined) return void res.writeHead(405).end();
      if (seen.method !== 'GET' && greeted(seen, res)) return;
      const send = stream(res);
      res.write('retry: 1\n\n');
      if (after === undefined) send('', 'x-0');
      else if (after === 'x-0') send({ jsonrpc: '2.0', method: 'notifications/progress', params: {} }, 'x-1');
      else send({ jsonrpc: '2.0', id: 1, result: { late: true } }, 'x-2');
      if (after === 'x-0') setImmediate(() => res.destroy());
      else res.end();
    });
    await using client = new Bridged(gateway.url);
    await client.initialize();
    client.ask(1, 'tools/call', { name: 'long' });
    expect((await client.answer(1)).result).toEqual({ late: true });
    const resumed = gateway.asked('GET').flatMap(({ headers }) => headers['last-event-id'] ?? []);
    expect(resumed).toEqual(['x-0', 'x-1']);
  });

  it('and cannot be gone on with becomes an error', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (greeted(seen, res)) return;
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 1\n\nid: x-0\ndata: \n\n');
    });
    await using client = new Bridged(gateway.url);
    await client.initialize();
    client.ask(1, 'tools/call', { name: 'long' });
    expect((await client.answer(1)).error.code).toBe(-32603);
  });
});

describe('a batch', () => {
  const batch = [
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 2, method: 'ping' },
  ];

  it('goes through as one message', async () => {
    await using gateway = await ScriptedGateway.start((seen, res) => {
      if (Array.isArray(seen.message))
        json(res, [
          { jsonrpc: '2.0', id: 1, result: {} },
          { jsonrpc: '2.0', id: 2, result: {} },
        ]);
      else greeted(seen, res, 's1', '2025-03-26');
    });
    await using client = new Bridged(gateway.url);
    await client.initialize('2025-03-26');
    client.say(batch);
    await eventually(() => client.lines.length === 2);
    await client.bridge.end(10_000);
    expect(client.messages[1]).toHaveLength(2);
    expect(client.lines).toHaveLength(2);
  });

  it('that is refused as a whole is an error for each of its requests', async () => {
    await using gateway = await ScriptedGateway.start((_, res) =>
      json(res, { jsonrpc: '2.0', error: { code: -32600, message: 'Batches are not supported' } }, 400),
    );
    await using client = new Bridged(gateway.url);
    client.say(batch);
    expect((await client.answer(1)).error.code).toBe(-32600);
    expect((await client.answer(2)).error.code).toBe(-32600);
  });
});

it('the session is ended with the bridge', async () => {
  await using gateway = await ScriptedGateway.start((seen, res) => void greeted(seen, res));
  const client = new Bridged(gateway.url);
  await client.initialize();
  await client.bridge.end(10_000);
  expect(gateway.asked('DELETE').map(({ headers }) => headers['mcp-session-id'])).toEqual(['s1']);
});
