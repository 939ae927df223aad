import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that Linux and macOS hand out to connections, and those that Kubernetes gives to nodes. */
const OWN = { from: 10_000, below: 30_000 };
const TRIES = 100;
const given = new Set<number>();

/**
 * A TCP port of 127.0.0.1 that was free a moment ago; no two that one process is given are the same. Nobody is handed it by the system
 * before it is listened on, nor while what listens there is down.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(OWN.from, OWN.below);
    if (given.has(port)) continue;
    given.add(port);
    if (await isPortFree(port)) return port;
  }
  return handedOut();
}

/** What the system hands out. Errors: why nobody may listen here. */
function handedOut(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** True when nobody listens on this port of 127.0.0.1. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
