import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface CallMessage {
  id: number;
  params: { arguments: { text: string } };
}

/** The bare HTTP server below the floors: parses a call, answers with what `handle` gives as the inside of the result. */
export function serveCalls(handle: (args: { text: string }) => string | Promise<string>): void {
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const text = (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)).toString('utf8');
      const message = JSON.parse(text) as CallMessage;
      const answer = (result: string) => {
        const body = `{"jsonrpc":"2.0","id":${message.id},"result":{${result},"resultType":"complete"}}`;
        res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
        res.end(body);
      };
      const result = handle(message.params.arguments);
      if (typeof result === 'string') answer(result);
      else void result.then(answer, (error: Error) => res.writeHead(500).end(error.message));
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.once('disconnect', () => process.exit(0));
}
