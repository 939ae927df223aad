import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { BusUser } from '@cortex/contracts';
import { startNats } from '@cortex/embedded';
import { eventually } from '@cortex/testing/eventually';
import type { Bus } from './bus.js';
import { connectBus } from './connect.js';

/** The way of one connection to the server: it breaks, and comes back, when a test wants it. */
class Way {
  /** False: bytes of the client lie where they are. */
  passes = true;
  #open = true;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(to: number) {
    this.#server = createServer((near) => {
      if (!this.#open) return void near.destroy();
      const far = connect(to, '127.0.0.1');
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined).on('close', () => other.destroy());
        socket.on('data', (bytes) => {
          if (this.passes || socket === far) other.write(bytes);
        });
      }
    });
  }

  async url(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.#open = false;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  mend(): void {
    this.passes = true;
    this.#open = true;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

let dir: string;
let server: Awaited<ReturnType<typeof startNats>>;
let way: Way;
/** By the way that breaks, and beside it. */
let far: Bus;
let near: Bus;
const open: Bus[] = [];
const busOf = async (service: BusUser, servers: string): Promise<Bus> => {
  const bus = await connectBus({ servers, service });
  open.push(bus);
  return bus;
};
const asked: string[] = [];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cortex-reconnect-'));
  server = await startNats({ dir, port: 0 });
});
beforeEach(async () => {
  way = new Way(server.port);
  far = await busOf('mcp-edge', await way.url());
  near = await busOf('ticket', server.url);
  asked.length = 0;
  near.subscribe('ask.*', (message) => {
    asked.push(message.string());
    message.respond(`${message.string()}!`);
  });
  await near.nc.flush();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((bus) => bus.close()));
  way.close();
});
afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true });
});
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => Promise.reject(new Error(`resolved with ${String(value)}`)),
    (error: unknown) => error,
  );
const cut = async (): Promise<void> => {
  way.cut();
  await eventually(() => !far.up);
};

describe('while a lost connection is made again', () => {
  it('what was not sent yet waits, and leaves in its order', async () => {
    await cut();
    far.publish('ask.first', 'first');
    const call = far.request('ask.second', 'second', { timeoutMs: 10_000 });
    expect(far.waiting).toBe(1);
    way.mend();
    expect((await call).string()).toBe('second!');
    expect(asked).toEqual(['first', 'second']);
  });

  it('an answer waits too, so that nobody who asked waits for his deadline', async () => {
    const { promise: cutOff, resolve } = Promise.withResolvers<void>();
    far.subscribe('slowly', (message) => void cutOff.then(() => message.respond('done')));
    await far.nc.flush();
    const call = near.request('slowly', '', { timeoutMs: 10_000 });
    await near.nc.flush();
    await far.nc.flush();
    await cut();
    resolve();
    way.mend();
    expect((await call).string()).toBe('done');
  });

  it('a read of the log that was sent is sent again, a call is not', async () => {
    const body = JSON.stringify({ name: 'T', subjects: ['t.>'], allow_direct: true });
    await near.request('$JS.API.STREAM.CREATE.T', body, { timeoutMs: 5_000 });
    const { seq } = await near.publishAcked('t.a', 'kept');
    way.passes = false;
    const read = far.direct.last('T', 't.a');
    const call = failure(far.request('ask.once', 'once', { timeoutMs: 10_000 }));
    await new Promise((resolve) => setImmediate(resolve));
    await cut();
    expect(await call).toMatchObject({ kind: 'unavailable', details: { outcome: 'unknown' } });
    way.mend();
    expect(await read).toMatchObject({ seq });
    expect(asked).toEqual([]);
  });

  it('a call waits no longer than it has time, and was not sent', async () => {
    await cut();
    await expect(far.request('ask.late', '', { timeoutMs: 100 })).rejects.toMatchObject({
      kind: 'unavailable',
      details: { outcome: 'not_sent' },
    });
    way.mend();
    await eventually(() => far.up);
    expect((await far.request('ask.later', 'later', { timeoutMs: 10_000 })).string()).toBe('later!');
    expect(asked).toEqual(['later']);
  });

  it('more than it may keep is refused', async () => {
    await cut();
    const large = new Uint8Array(far.maxPayload);
    for (let n = 0; n < 16; n++) far.publish('ask.large', large);
    await expect(far.request('ask.more', '', { timeoutMs: 10_000 })).rejects.toMatchObject({
      details: { outcome: 'not_sent' },
    });
  });
});

it('a bus that stays away is said to be away: to those who wait when that is clear, then at once', async () => {
  await cut();
  const call = () => failure(far.request('ask.away', '', { timeoutMs: 60_000 }));
  const first = call();
  far.publish('ask.away', 'a hint');
  expect(await first).toMatchObject({ details: { outcome: 'not_sent' } });
  const later = call();
  expect(far.waiting).toBe(0);
  expect(await later).toMatchObject({ details: { outcome: 'not_sent' } });
  way.mend();
  await eventually(() => far.up);
  await far.nc.flush();
  await near.nc.flush();
  expect(asked).toEqual([]);
});
