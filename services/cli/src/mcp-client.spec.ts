import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { mcp } from './mcp-client.js';

/** What the command line tells of an answer. */
async function told(status: number, body: unknown, headers: Record<string, string> = {}): Promise<string> {
  const server = createServer((req, res) => {
    req.resume().once('end', () => res.writeHead(status, headers).end(JSON.stringify(body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  try {
    await mcp({ endpoint, token: 't', timeoutMs: 10_000 }, 'tools/list', {});
    return '';
  } catch (error) {
    return (error as Error).message;
  } finally {
    server.close();
  }
}

it('says when to try again', async () => {
  const limited = { error: 'rate_limited', error_description: 'the limit of this minute is reached' };
  expect(await told(429, limited, { 'retry-after': '17' })).toBe(
    'the limit of this minute is reached (rate_limited, HTTP 429); try again in 17 s',
  );
});

it('names the scopes that are missing', async () => {
  const error = { code: -32003, message: 'not allowed', data: { required: ['mcp:cortex:write'] } };
  expect(await told(403, { jsonrpc: '2.0', id: 1, error })).toBe(
    'not allowed; needed: mcp:cortex:write (insufficient_scope, HTTP 403)',
  );
});
