import { counter, eventually, startService, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineCommand, defineQuery } from './endpoint.js';
import { defineService } from './service.js';
import { defineTool } from './tool.js';

const ping = defineTool({
  name: 'ping',
  title: 'T',
  description: 'D',
  tier: 'read',
  actions: [],
  workspace: 'none',
  input: z.object({}),
  output: z.object({}),
  handle: () => ({}),
});
const devices = defineQuery({
  name: 'devices',
  input: z.object({ n: z.number() }),
  handle: ({ n }) => ({ devices: 'x'.repeat(n) }),
});
const addDevice = defineCommand({
  name: 'add_device',
  input: z.object({ device: z.string() }),
  async handle({ device }, ctx) {
    const { state } = await ctx.load(counter, device, { workspace: null });
    return { device, status: state.status };
  },
});

/** In the place of remote-ops, of which the access table permits a query and a command to somebody else. */
const service = defineService({
  name: 'remote-ops',
  config: z.object({}),
  tools: [ping],
  queries: [devices],
  commands: [addDevice],
});

let app: RunningService;
beforeAll(async () => {
  app = await startService(service);
});
afterAll(async () => app[Symbol.asyncDispose]());

describe('queries and commands', () => {
  it('are answered by one JSON, by reference when it is large', async () => {
    expect(await app.ask('query', 'devices', { n: 3 })).toEqual({ devices: 'xxx' });
    expect(await app.ask('query', 'devices', { n: 700_000 })).toEqual({ devices: 'x'.repeat(700_000) });
    await expect(app.ask('query', 'devices', { m: 3 })).rejects.toMatchObject({ reason: 'unknown_argument' });
  });

  it('run a command of the operator', async () => {
    expect(await app.ask('cmd', 'add_device', { device: 'd1' })).toEqual({ device: 'd1', status: 'none' });
  });

  it('of a name that this release does not have are told so', async () => {
    await expect(app.ask('cmd', 'revoke_device', {})).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('the bus', () => {
  it('T81 drops a message whose answer goes to somebody who may not call, and counts it', async () => {
    const provision = await app.nats.busAs('provision');
    const replies: string[] = [];
    provision.subscribe('_INBOX_review.x', (message) => replies.push(message.string()));
    provision.publish('cortex.tool.remote-ops.ping', '{}', { reply: '_INBOX_review.x' });
    provision.publish('cortex.tool.remote-ops.ping', '{}');
    provision.publish('cortex.query.remote-ops.devices', '{}', { reply: 'cortex.evt.ticket.w1.counter.c1' });
    await eventually(async () =>
      (await app.host.metrics.text()).includes('cortex_messages_dropped_total{service="remote-ops"} 3'),
    );
    expect(replies).toEqual([]);
    expect(app.log.filter((line) => line.includes('may not send it'))).toHaveLength(1);
  });
});
