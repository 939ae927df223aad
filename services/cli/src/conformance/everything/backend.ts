import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { JwksSource, TokenVerifier } from '@cortex/auth';
import { askingTools } from './asking.js';
import { type FixtureTool, type Json, type Run, said, SCOPE } from './call.js';
import { contentTools } from './contents.js';
import { listedResources, listedTemplates, prompts, read } from './items.js';

export interface EverythingOptions {
  /** The one with which the gateway asks for lists. */
  readonly technicalToken: string;
}

/** Whose tokens count; known once the gateway runs. */
export interface Trust {
  readonly issuer: string;
  readonly audience: string;
}

export interface Everything extends AsyncDisposable {
  readonly url: string;
  trust(whom: Trust): void;
}

const PATH = '/api/cortex/backend';
const LISTS = new Set(['list_tools', 'list_prompts', 'list_resources', 'list_resource_templates']);
const NO_ARGUMENTS: Json = { type: 'object', properties: {} };

/**
 * The backend that the official conformance suite is run against through the gateway: every name in it is one that the suite asks for. It
 * speaks the contract of level 2 and verifies each user's token itself.
 */
export async function startEverything({ technicalToken }: EverythingOptions): Promise<Everything> {
  let verifier: TokenVerifier | undefined;
  /** Items that come and go with the tools that trigger a change. */
  const dynamic = { tools: false, prompts: false };
  const trigger = (kind: 'tools' | 'prompts'): FixtureTool => ({
    description: `Adds or removes one of the ${kind}.`,
    streamed: true,
    run({ tell }) {
      dynamic[kind] = !dynamic[kind];
      tell({ type: 'list_changed', kinds: [kind] });
      return said(`${dynamic[kind] ? 'Added' : 'Removed'} one of the ${kind}`);
    },
  });
  const tools = (): Record<string, FixtureTool> => ({
    ...contentTools,
    ...askingTools,
    test_trigger_tool_change: trigger('tools'),
    test_trigger_prompt_change: trigger('prompts'),
    ...(dynamic.tools && { test_dynamic_tool: { description: 'Is there for a while.', run: () => said('Here I am') } }),
  });
  const offeredPrompts = (): typeof prompts => ({
    ...prompts,
    ...(dynamic.prompts && {
      test_dynamic_prompt: {
        description: 'Is there for a while.',
        run: () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'Here I am' } }] }),
      },
    }),
  });

  const lists: Record<string, () => Json> = {
    list_tools: () => ({
      tools: Object.entries(tools()).map(([name, { description, inputSchema = NO_ARGUMENTS }]) => ({
        name,
        description,
        inputSchema,
        scope: SCOPE,
      })),
    }),
    list_prompts: () => ({
      prompts: Object.entries(offeredPrompts()).map(([name, { description, arguments: args }]) => ({
        name,
        description,
        scope: SCOPE,
        ...(args && { arguments: args }),
      })),
    }),
    list_resources: () => ({ resources: listedResources() }),
    list_resource_templates: () => ({ resourceTemplates: listedTemplates() }),
  };

  const permitted = async (req: IncomingMessage, method: string): Promise<boolean> => {
    const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? '';
    if (LISTS.has(method)) return token === technicalToken;
    const verified = await verifier?.verify(token);
    if (verified === undefined || 'refused' in verified) return false;
    return String(verified.claims['scope']).split(' ').includes(SCOPE);
  };

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const {
      method,
      params = {},
      context = {},
    } = JSON.parse(await readText(req)) as {
      method: string;
      params?: Json;
      context?: Json;
    };
    if (req.method !== 'POST' || req.url !== PATH) return json(res, 404, { error: 'no such route' });
    if (!(await permitted(req, method))) return json(res, 401, { error: 'no token for this' });
    const list = lists[method];
    if (list !== undefined) return json(res, 200, list());
    const answer = (run: Run) => run({ params, context, tell: () => undefined });
    if (method === 'get_prompt') {
      const prompt = offeredPrompts()[String(params['name'])];
      if (prompt === undefined) return json(res, 404, { error: 'no such prompt' });
      return json(res, 200, await answer(prompt.run), NATIVE);
    }
    if (method === 'read_resource') {
      const found = read(params['uri']);
      return found === undefined ? json(res, 404, { error: 'no such resource' }) : json(res, 200, found, NATIVE);
    }
    if (method === 'complete') return json(res, 200, { values: completions(params), hasMore: false });
    const tool = tools()[method];
    if (tool === undefined) return json(res, 404, { error: 'no such tool' });
    if (!tool.streamed) return json(res, 200, await answer(tool.run), NATIVE);
    res.writeHead(200, { 'content-type': 'application/x-ndjson' });
    const tell = (line: Json): void => void res.write(`${JSON.stringify(line)}\n`);
    tell({ type: 'result', result: await tool.run({ params, context, tell }), native: true });
    res.end();
  };

  const server = createServer((req, res) => {
    serve(req, res).catch((error: unknown) => {
      if (!res.headersSent) json(res, 500, { error: String(error) });
      else res.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    trust({ issuer, audience }) {
      const keys = new JwksSource({ url: `${issuer}/.well-known/jwks.json` });
      verifier = new TokenVerifier({ keys, issuer, audiences: [audience] });
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const NATIVE = { 'x-cortex-result': 'mcp' };

function json(res: ServerResponse, status: number, value: Json, headers: Record<string, string> = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

/** Of what the suite completes: values that begin with what was typed. */
function completions({ argument }: Json): string[] {
  const { value: typed } = argument as { value: string };
  return ['paris', 'park', 'party'].filter((value) => value.startsWith(typed));
}
