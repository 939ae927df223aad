import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defineCommand, defineService } from '@cortex/service-kit';
import { z } from 'zod';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { type RawAsk, rawClient } from '../testing/raw-client.js';
import { sampleService } from '../testing/sample-tools.js';

const SECRET = 'the-servers-own-secret';

/** Stands in the place of `waitpoint`: says what it was asked. */
const waitpoint = defineService({
  name: 'waitpoint',
  config: z.object({}),
  tools: [],
  commands: [
    defineCommand({
      name: 'signal',
      input: z.object({
        id: z.string(),
        secret: z.string(),
        source: z.literal('webhook'),
        status: z.string().optional(),
        message: z.string().optional(),
        member: z.string().optional(),
        data: z.unknown(),
      }),
      handle: (args) => (args.id === 'wp_gone' ? { http: 410, body: { error: 'gone', state: 'fired' } } : said(args)),
    }),
  ],
});
const said = (args: object) => ({ http: 202, body: { accepted: true, fired: false, asked: args } });

/** And `billing`, likewise. */
const billing = defineService({
  name: 'billing',
  config: z.object({}),
  tools: [],
  commands: [
    defineCommand({
      name: 'record_usage',
      input: z.object({ sessionId: z.string(), model: z.string(), key: z.string() }),
      handle: (args, { caller, scope }) => ({ recorded: true, cost_usd: 0.5, args, caller, scope }),
    }),
  ],
});

let edge: EdgeFixture;
let ask: (given: RawAsk) => Promise<{ status: number; json: never; text: string; headers: Record<string, unknown> }>;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService, waitpoint, billing], env: { CORTEX_WEBHOOK_TOKEN: SECRET } });
  const client = rawClient(`http://127.0.0.1:${edge.edge.webhooks.port}`, '');
  ask = (given) => client.ask({ token: null, ...given }) as never;
});
afterAll(async () => edge[Symbol.asyncDispose]());

const post = (path: string, body: unknown, token: string | undefined = SECRET, headers: RawAsk['headers'] = {}) =>
  ask({ path, body, headers: { 'x-cortex-token': token, ...headers } });

describe('a signal', () => {
  const signal = { id: 'wp_1', secret: 's', status: 'ok', message: 'exit=0', member: 'a', data: { loss: 0.1 } };
  it('needs no token and reaches the waitpoint with the fields of a signal alone', async () => {
    const { status, json } = await ask({ path: '/webhook/signal', body: { ...signal, source: 'spool', more: 1 } });
    expect({ status, json }).toEqual({
      status: 202,
      json: { accepted: true, fired: false, asked: { ...signal, source: 'webhook' } },
    });
  });
  it('has the status that the waitpoint gives', async () => {
    const { status, json } = await ask({ path: '/webhook/signal', body: { ...signal, id: 'wp_gone' } });
    expect({ status, json }).toEqual({ status: 410, json: { error: 'gone', state: 'fired' } });
  });
});

it('usage goes to billing in the name of the session', async () => {
  const { status, json } = await post('/webhook/usage', { sessionId: 's1', model: 'm', key: 'k' });
  expect({ status, json }).toMatchObject({
    status: 200,
    json: {
      success: true,
      data: {
        args: { sessionId: 's1', model: 'm', key: 'k' },
        caller: { type: 'system' },
        scope: { session_id: 's1' },
      },
    },
  });
});

it('401 without a token or with a wrong one, the same for all routes that need one', async () => {
  for (const token of [undefined, 'wrong', `${SECRET}x`])
    for (const path of ['/webhook/usage', '/webhook/tool', '/webhook/cost-query'])
      expect(await ask({ path, body: {}, headers: { 'x-cortex-token': token } })).toMatchObject({ status: 401 });
});
