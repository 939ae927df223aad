import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { TOOL } from './request.js';

/** Floor (b): the same echo as the smallest server that the MCP SDK makes. */
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  const schema = z.object({ text: z.string() });
  server.registerTool(TOOL, { inputSchema: schema, outputSchema: schema }, ({ text }) => ({
    content: [{ type: 'text', text: JSON.stringify({ text }) }],
    structuredContent: { text },
  }));
  return server;
});

const answer = toNodeHandler(handler);
const server = createServer((req, res) => void answer(req, res));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
