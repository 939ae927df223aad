import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { PurgeRoute } from './purge-route.js';

const SECRET = 'of the timer';
const ADMIN = 'of the operators';
let edge: EdgeFixture;
beforeAll(async () => {
  const env = { CRON_SECRET: SECRET, CORTEX_ADMIN_SECRET: ADMIN, CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '8' };
  edge = await startEdge({ env });
});
afterAll(async () => edge[Symbol.asyncDispose]());

const purge = async (method: string, headers: Record<string, string> = {}, path = '') => {
  const response = await fetch(`${edge.origin}/api/cron/purge-audit${path}`, { method, headers });
  return { status: response.status, headers: response.headers, body: await response.json() };
};

describe('the purge of the audit trail', () => {
  it.each([
    ['none', {}, ''],
    ['another', { 'x-cron-secret': 'a guess' }, ''],
    ['that of the operators', { 'x-cron-secret': ADMIN }, ''],
    ['another one in the URL', {}, '?secret=guess'],
  ])('is for nobody whose secret is %s', async (_which, headers, path) => {
    expect(await purge('POST', headers as Record<string, string>, path)).toMatchObject({
      status: 401,
      body: { error: 'Unauthorized' },
    });
  });

  it.each(['', 'undefined', SECRET])('is for nobody where no secret was set: %j', async (given) => {
    const nobody = { bus: undefined as never, instances: undefined as never, log: undefined as never };
    const route = new PurgeRoute({ ...nobody, secret: undefined, failuresPerMinute: 9, clientIp: () => '127.0.0.1' });
    const req = { method: 'POST', url: '/api/cron/purge-audit', headers: { 'x-cron-secret': given } };
    expect(await route.answer(req as unknown as IncomingMessage)).toMatchObject({ status: 401 });
  });

  it('opens no route of operators with the secret of the timer', async () => {
    const response = await fetch(`${edge.origin}/api/admin/tool-integrity`, {
      headers: { 'x-cortex-admin-secret': SECRET },
    });
    expect(response.status).toBe(401);
  });

  it('is 500 while the audit service is away, and says nothing of the house', async () => {
    const { status, headers, body } = await purge('GET', { 'x-cron-secret': SECRET });
    expect([status, headers.get('cache-control')]).toEqual([500, 'no-store']);
    expect(body).toEqual({ error: 'purge_failed', hint: 'the log of the service audit says why' });
  });

  it('is 405 for other methods', async () => {
    const { status, headers } = await purge('DELETE', { 'x-cron-secret': SECRET });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, POST']);
  });

  it('lets nobody guess the secret without end', async () => {
    let status = 0;
    for (let n = 0; n < 9; n++) ({ status } = await purge('POST', { 'x-cron-secret': `guess-${n}` }));
    expect(status).toBe(429);
  });
});
