import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

const SECRET = 'the-secret-of-operators';
let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ env: { CORTEX_ADMIN_SECRET: SECRET, CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '5' } });
  edge.edge.admin.add('probe', {
    GET: ({ query }) => ({ status: 200, body: { asked: query.get('tool') } }),
    POST: ({ body }) => ({ status: 200, body: { got: body } }),
  });
  edge.edge.admin.add('things/*', { PATCH: ({ rest }) => ({ status: 200, body: { rest } }) });
});
afterAll(async () => edge[Symbol.asyncDispose]());

const send = async (method: string, path: string, headers: Record<string, string> = {}, body?: string) => {
  const response = await fetch(`${edge.origin}/api/admin/${path}`, {
    method,
    headers: { 'x-cortex-admin-secret': SECRET, ...headers },
    ...(body !== undefined && { body }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
};

describe('the routes of operators', () => {
  it('answer whoever brings the secret, and are kept by nobody', async () => {
    const answer = await send('GET', 'probe?tool=demo%2Fecho');
    expect(answer).toMatchObject({ status: 200, body: { asked: 'demo/echo' } });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await send('POST', 'probe', {}, '{"a":[1]}')).toMatchObject({ status: 200, body: { got: { a: [1] } } });
    expect(await send('PATCH', 'things/t%2F1', {}, '{}')).toMatchObject({ status: 200, body: { rest: 't/1' } });
  });

  it('say 405 with Allow for another method, 404 for another path, 400 for what is no JSON', async () => {
    const wrong = await send('PUT', 'probe', {}, '{}');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, POST']);
    expect(await send('GET', 'things')).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(await send('GET', 'nothing')).toMatchObject({ status: 404 });
    expect(await send('POST', 'probe', {}, '{"a":')).toMatchObject({ status: 400, body: { error: 'invalid_body' } });
  });

  it('open to no web page of another origin, secret or not (T07)', async () => {
    expect(await send('GET', 'probe', { origin: 'https://evil.example' })).toMatchObject({
      status: 403,
      body: { error: 'forbidden_origin' },
    });
  });

  it('tell nobody without the secret which paths there are, and take no bearer token for it', async () => {
    const bearer = { 'x-cortex-admin-secret': '', authorization: `Bearer ${await edge.token()}` };
    for (const path of ['probe', 'nothing'])
      expect(await send('GET', path, bearer)).toMatchObject({ status: 401, body: { error: 'Unauthorized' } });
  });

  it('let nobody guess the secret faster than tokens can be guessed', async () => {
    let status = 0;
    for (let n = 0; n < 8; n++) status = (await send('GET', 'probe', { 'x-cortex-admin-secret': `guess-${n}` })).status;
    expect(status).toBe(429);
    expect((await send('GET', 'probe')).status).toBe(429);
  });
});
