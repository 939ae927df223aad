import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEdge, type EdgeFixture } from '@cortex/mcp-edge/testing/edge-fixture';
import { eventually } from '@cortex/testing';
import { McpClient, type Revision } from './client.js';
import { Crowd, type CrowdOrder } from './crowd.js';

let edge: EdgeFixture;
let port: number;
let token: string;
beforeAll(async () => {
  edge = await startEdge();
  port = Number(new URL(edge.origin).port);
  token = await edge.token();
});
afterAll(async () => edge[Symbol.asyncDispose]());

const gauge = async (name: string): Promise<number> => {
  const text = await (await fetch(`${edge.origin}/metrics`)).text();
  return [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm'))].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
};

describe('a client of the load', () => {
  it.each<Revision>(['2025-06-18', '2025-11-25', '2026-07-28'])(
    'comes, holds a stream, calls and lists, and leaves nothing behind (%s)',
    async (revision) => {
      const client = new McpClient({ port, token, revision, stream: true });
      await client.connect();
      expect(await gauge('gw_streams')).toBe(1);
      expect(await gauge('gw_sessions')).toBe(revision === '2026-07-28' ? 0 : 1);
      expect(await client.call('current_time', {})).toHaveProperty('timezone');
      expect(await client.request('tools/list', {})).toHaveProperty('tools');
      await client.leave();
      await eventually(async () => expect([await gauge('gw_streams'), await gauge('gw_sessions')]).toEqual([0, 0]));
    },
  );

  it('takes a refusal for a failure', async () => {
    const client = new McpClient({ port, token, revision: '2026-07-28', stream: false });
    await client.connect();
    await expect(client.call('no_such_tool', {})).rejects.toThrow('tools/call: status');
    await client.leave();
    const stranger = new McpClient({ port, token: 'wrong', revision: '2025-11-25', stream: false });
    await expect(stranger.connect()).rejects.toThrow('initialize: status 401');
    await stranger.leave();
  });
});

describe('the crowd of the load', () => {
  const order = (more: Partial<CrowdOrder>): CrowdOrder => ({
    port,
    teams: [{ token, workspace_id: 'w1' }],
    clients: 6,
    kind: 'mixed',
    requestsPerSecond: null,
    callsOfLife: 4,
    ...more,
  });

  it('keeps open what it is told to keep, until it leaves', async () => {
    const crowd = new Crowd(order({ kind: 'streams' }));
    await eventually(() => crowd.figures().here === 6);
    await eventually(async () => expect(await gauge('gw_streams')).toBe(6));
    await crowd.leave();
    expect(crowd.figures()).toMatchObject({ here: 0, failed: 0 });
    await eventually(async () => expect([await gauge('gw_streams'), await gauge('gw_sessions')]).toEqual([0, 0]));
  });

  it('counts what fails, says why, and comes anew', async () => {
    // There is no service of tickets here.
    const crowd = new Crowd(order({ clients: 1 }));
    const seen = { failed: 0, lives: 0, failures: [] as string[] };
    await eventually(() => {
      const { failed, lives, failures } = crowd.figures();
      seen.failed += failed;
      seen.lives += lives;
      seen.failures.push(...failures);
      return seen.lives > 1;
    });
    await crowd.leave();
    expect(seen.failed).toBeGreaterThan(0);
    expect(seen.failures[0]).toContain('client 0, life 0: Error: tools/call');
    await eventually(async () => expect(await gauge('gw_sessions')).toBe(0));
  });
});
