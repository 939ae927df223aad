import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { freePort, isPortFree } from './ports.js';

it('a free port is none that the system hands to connections, and no second one is the same', async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, freePort));
  expect(new Set(ports).size).toBe(ports.length);
  expect(ports.filter((port) => port < 10_000 || port >= 30_000)).toEqual([]);
});

it('a port is free until somebody listens on it', async () => {
  const port = await freePort();
  expect(await isPortFree(port)).toBe(true);
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  expect(await isPortFree(port)).toBe(false);
  server.close();
});
