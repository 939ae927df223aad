import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { postgresFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { connectAdmin } from './connect-admin.js';

const silent = async (): Promise<{ port: number } & AsyncDisposable> => {
  const server = createServer((socket) => socket.resume().on('error', () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void (await once(server.close(), 'close')) };
};

it('says where no database is, and never with which password it was asked', async () => {
  const { port } = await silent().then(async (server) => (await server[Symbol.asyncDispose](), server));
  const refused = connectAdmin(`postgres://boss:hunter2@127.0.0.1:${port}/cortex`);
  await expect(refused).rejects.toMatchObject({ kind: 'unavailable', field: 'database' });
  await expect(refused).rejects.toThrow(`database cannot be reached at 127.0.0.1:${port} (`);
  await expect(refused).rejects.not.toThrow('hunter2');
});

it('says what a server refuses', async () => {
  await using postgres = await postgresFixture([]);
  const url = new URL(postgres.adminUrl);
  url.pathname = '/nowhere';
  await expect(connectAdmin(url.href)).rejects.toThrow(/cannot be reached at .* \(database "nowhere" does not exist\)/);
});

it('gives up on a server that takes the connection and never answers', async () => {
  await using server = await silent();
  await expect(connectAdmin(`postgres://boss:x@127.0.0.1:${server.port}/cortex`, 20)).rejects.toThrow(
    `database cannot be reached at 127.0.0.1:${server.port} (timeout`,
  );
});
