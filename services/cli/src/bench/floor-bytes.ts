import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Floor of the list: answers every request with the same bytes under its own id. They come by message. */
process.send?.({ waits: true });
process.once('disconnect', () => process.exit(0));
process.once('message', ({ answer }: { answer: string }) => {
  const result = Buffer.from(JSON.stringify((JSON.parse(answer) as { result: unknown }).result));
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const { id } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { id: number };
      const head = `{"jsonrpc":"2.0","id":${id},"result":`;
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': head.length + result.length + 1 });
      res.cork();
      res.write(head);
      res.write(result);
      res.end('}');
      res.uncork();
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
});
