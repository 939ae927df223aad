import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing/eventually';
import { EventStream } from './streams.js';

let server: Server;
const responses: ServerResponse[] = [];
beforeAll(async () => {
  server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.flushHeaders();
    responses.push(res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());

/** A client that reads nothing, and its response. */
async function deaf(): Promise<{ socket: Socket; res: ServerResponse }> {
  const before = responses.length;
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.pause().on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  return { socket, res: await eventually(() => responses[before] ?? false) };
}

const EVENT = 'x'.repeat(256 * 1024);
const MIB = 1024 * 1024;

describe('T18 a client that reads nothing', () => {
  it('pins 4 MiB and one event, then its stream ends', async () => {
    const { socket, res } = await deaf();
    const stream = new EventStream(res, Infinity);
    let most = 0;
    await eventually(() => {
      for (let i = 0; i < 8 && stream.open; i++) {
        stream.send('message', EVENT);
        most = Math.max(most, res.writableLength);
      }
      return !stream.open;
    });
    expect(most).toBeLessThan(4.5 * MIB);
    socket.destroy();
  });

  it('is cut off after a while, also when its stream was ended', async () => {
    const { socket, res } = await deaf();
    const stream = new EventStream(res, Infinity, Date.now, 200);
    stream.send('message', 'x'.repeat(32 * MIB));
    stream.end();
    await eventually(() => res.destroyed);
    socket.destroy();
  });

  it('is none while there is nothing to read', async () => {
    const { socket, res } = await deaf();
    const stream = new EventStream(res, Infinity, Date.now, 200);
    const began = performance.now();
    await eventually(() => performance.now() - began > 500);
    expect(stream.open).toBe(true);
    socket.destroy();
  });

  it('is none when it reads slowly', async () => {
    const { socket, res } = await deaf();
    // Ten of the client's pauses, so that one of the machine's is not taken for it; the whole takes longer.
    const stream = new EventStream(res, Infinity, Date.now, 2_000);
    stream.send('message', 'x'.repeat(32 * MIB));
    let got = 0;
    const slowly = setInterval(() => socket.resume(), 200);
    socket.on('data', (part: Buffer) => {
      got += part.length;
      if (got % (2 * MIB) < part.length) socket.pause();
    });
    await eventually(() => got > 32 * MIB, 60_000);
    clearInterval(slowly);
    expect(stream.open).toBe(true);
    socket.destroy();
  });
});
