import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Connection } from './connection.js';

/** Answers the first request of each connection and no other. */
const server = createServer((socket) => {
  socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'));
  socket.on('error', () => undefined);
});
let port: number;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

it('takes a request that is never answered for a failure, and asks the next one over a connection of its own', async () => {
  const connection = new Connection(port, 50);
  const ask = () => connection.send({ method: 'POST', headers: {} });
  expect(await ask()).toMatchObject({ status: 200, body: '{}' });
  await expect(ask()).rejects.toThrow('no answer within 50 ms');
  expect(await ask()).toMatchObject({ status: 200 });
  connection.close();
});
