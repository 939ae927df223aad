import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

/*
 * Floor of a gateway: one hop in Node that reads and parses a request, sends its bytes on over kept connections, and gives back
 * the answer unread.
 */
const backend = new Pool(process.argv[2] ?? '', { connections: 128, pipelining: 1 });

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    const { method } = JSON.parse(body.toString('utf8')) as { method: string };
    if (typeof method !== 'string') return void res.writeHead(400).end();
    const headers = { 'content-type': 'application/json' };
    backend
      .request({ path: req.url ?? '', method: 'POST', headers, body })
      .then(async (answer) => {
        const bytes = Buffer.from(await answer.body.arrayBuffer());
        const type = String(answer.headers['content-type']);
        res.writeHead(answer.statusCode, { 'content-type': type, 'content-length': bytes.length }).end(bytes);
      })
      .catch((error: Error) => res.writeHead(502).end(error.message));
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
