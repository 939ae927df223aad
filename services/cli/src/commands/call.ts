import { text as readAll } from 'node:stream/consumers';
import { showControls } from '@cortex/contracts/text';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { bearerFlag, parseArguments } from '../flags.js';
import { mcp, type McpTarget } from '../mcp-client.js';
import { print, printJson, table, tell } from '../output.js';
import { makeToken, parseDuration } from '../token.js';
import { assertRunning } from '../up/state.js';

interface Flags {
  home?: string;
  token?: string;
  json?: boolean;
}

interface Tool {
  name: string;
  title?: string;
  description?: string;
}

interface Block {
  type: string;
  text?: string;
  data?: string;
  mimeType?: string;
  resource?: { text?: string; blob?: string; mimeType?: string };
}

interface ToolResult {
  content?: Block[];
  isError?: boolean;
  resultType?: string;
}

export async function tools(flags: Flags): Promise<void> {
  const target = targetOf(flags, 30_000);
  const all: Tool[] = [];
  let cursor: string | undefined;
  do {
    const page = await mcp<{ tools: Tool[]; nextCursor?: string }>(target, 'tools/list', cursor ? { cursor } : {});
    all.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  if (flags.json) printJson({ tools: all });
  else
    print(table(all.map(({ name, title, description }) => [name, showControls(title ?? firstSentence(description))])));
}

const firstSentence = (text = ''): string => (/^[^\n]*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text).slice(0, 100);

export async function call(tool: string, given: string, flags: Flags & { timeout: string }): Promise<void> {
  const args = parseArguments(
    given === '-' ? await readAll(process.stdin) : given,
    given === '-' ? 'stdin' : 'arguments',
  );
  const target = targetOf(flags, parseDuration('--timeout', flags.timeout) * 1000);
  const slow = setInterval(() => tell(`waiting for ${tool}`), 5_000);
  const result = await mcp<ToolResult>(target, 'tools/call', { name: tool, arguments: args }, tool).finally(() =>
    clearInterval(slow),
  );
  if (result.isError) process.exitCode = EXIT.failed;
  if (flags.json) return printJson(result);
  if (result.resultType === 'input_required') {
    throw new CliError(
      `${tool} asks its caller something, which this command cannot answer; call it from an MCP client`,
    );
  }
  const text = textOf(result);
  if (result.isError) process.stderr.write(`${text}\n`);
  else print(text);
}

/** What a person reads of a result; what came from outside steers no terminal. */
function textOf({ content = [] }: ToolResult): string {
  const blocks = content.map(({ type, resource, ...block }) => {
    const { text, data = resource?.blob, mimeType } = { ...resource, ...block };
    if (text !== undefined) return text;
    const size = data === undefined ? '' : `, ${Buffer.byteLength(data, 'base64')} bytes`;
    return `[${type}${mimeType === undefined ? '' : ` ${mimeType}`}${size}; --json has it]`;
  });
  const text = blocks.join('\n');
  return process.stdout.isTTY ? showControls(text) : text;
}

function targetOf(flags: Flags, timeoutMs: number): McpTarget {
  const home = homeOf(flags.home);
  const { endpoint } = assertRunning(home);
  return { endpoint, token: bearerFlag(flags.token) ?? makeToken(home, process.env), timeoutMs };
}
