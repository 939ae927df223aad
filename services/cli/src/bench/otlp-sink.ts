import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A collector that throws everything away, so that the edge exports its spans as it would to a real one. */
const server = createServer((req, res) => {
  req.resume().on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
