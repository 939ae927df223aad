import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Asked {
  method: string;
  params: { text: string };
}

/*
 * A backend that does nothing but what its contract asks for: it lists so many tools and gives back a text. The tools after the first
 * only make the catalogue longer; they are of the size that real ones have.
 */
const NOUNS = ['invoice', 'mower', 'ticket', 'person', 'device', 'report', 'garden'];
const VERBS = ['list', 'find', 'create', 'update', 'remove'];

const count = Number(process.argv[2] ?? 1);
const list = JSON.stringify({ tools: Array.from({ length: count }, (_, i) => tool(i)) });

function tool(i: number): object {
  const text = { type: 'string', description: 'Text that comes back' };
  if (i === 0)
    return {
      name: 'echo',
      scope: 'mcp:bench:read',
      description: 'Gives back the text. Exists while the bench runs.',
      inputSchema: { type: 'object', properties: { text }, required: ['text'] },
    };
  return {
    name: `${NOUNS[i % NOUNS.length]}_${VERBS[i % VERBS.length]}_${i}`,
    scope: 'mcp:bench:read',
    description: `Works on the ${NOUNS[i % NOUNS.length]} number ${i} as the ${VERBS[i % VERBS.length]} of it. Exists while the bench runs.`,
    inputSchema: {
      type: 'object',
      properties: { text, limit: { type: 'integer', minimum: 1, maximum: 100 }, tags: { $ref: '#/$defs/tags' } },
      required: ['text'],
      $defs: { tags: { type: 'array', items: { type: 'string' } } },
    },
  };
}
const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    const { method, params } = JSON.parse(bytes.toString('utf8')) as Asked;
    const known = method === 'echo' || method === 'list_tools';
    const body =
      method === 'echo' ? JSON.stringify({ text: params.text }) : known ? list : '{"error":"no such method"}';
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    res.writeHead(known ? 200 : 404, headers).end(body);
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
