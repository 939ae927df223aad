import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Told {
  body: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- what was sent is looked at field by field
  json: any;
  headers: IncomingHttpHeaders;
}

export interface TestHook extends AsyncDisposable {
  readonly url: string;
  readonly told: Told[];
  /** What becomes of each request; 204 unless it is changed. */
  answer: (res: ServerResponse) => void;
}

export const taken = (res: ServerResponse): void => void res.writeHead(204).end();

/** The webhook of a platform team. */
export async function testHook(): Promise<TestHook> {
  const told: Told[] = [];
  const server = createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    req.on('end', () => {
      told.push({ body, json: JSON.parse(body), headers: req.headers });
      hook.answer(res);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hook: TestHook = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    told,
    answer: taken,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return hook;
}
