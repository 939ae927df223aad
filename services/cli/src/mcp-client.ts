import { request, type IncomingMessage } from 'node:http';
import { request as requestTls } from 'node:https';
import { CliError, EXIT } from './exit.js';
import { version } from './version.js';

const PROTOCOL = '2026-07-28';

export interface McpTarget {
  endpoint: string;
  token: string;
  timeoutMs: number;
}

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

interface HttpAnswer {
  status: number;
  text: string;
  /** Seconds, as the server says. */
  retryAfter: string | undefined;
}

/** An answer of the server that is no result: it refused the request itself. */
export class McpError extends CliError {
  constructor(
    readonly status: number,
    readonly error: RpcError | null,
    { text, retryAfter }: Pick<HttpAnswer, 'text' | 'retryAfter'>,
  ) {
    const later = retryAfter === undefined ? '' : `; try again in ${retryAfter} s`;
    const scopes = (error?.data as { required?: string[] } | undefined)?.required;
    const needs = Array.isArray(scopes) ? `; needed: ${scopes.join(' ')}` : '';
    // The protocol has no code of its own for it; the challenge beside it has this word.
    const code = status === 403 && needs !== '' ? 'insufficient_scope' : error?.code;
    super(
      (error === null ? refusal(status, text) : `${error.message}${needs} (${code}, HTTP ${status})`) + later,
      EXIT.failed,
    );
  }
}

/** A refusal before the protocol begins: of the token, or of the host name. */
function refusal(status: number, text: string): string {
  try {
    const { error, error_description } = JSON.parse(text) as { error?: string; error_description?: string };
    if (error !== undefined) return `${error_description ?? error} (${error}, HTTP ${status})`;
  } catch {
    // not one of ours
  }
  return `server answered ${status}: ${text.slice(0, 200)}`;
}

/** One request of the stateless protocol: everything that the server must know travels with it. */
export async function mcp<T>(
  target: McpTarget,
  method: string,
  params: Record<string, unknown>,
  name?: string,
): Promise<T> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': PROTOCOL,
        'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/clientInfo': { name: 'cortex-cli', version },
      },
    },
  });
  const answer = await post(target, body, {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${target.token}`,
    'mcp-protocol-version': PROTOCOL,
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': headerValue(name) }),
  });
  const message = answerIn(answer.text);
  if (message?.result !== undefined) return message.result as T;
  throw new McpError(answer.status, message?.error ?? null, answer);
}

type Answer = { result?: unknown; error?: RpcError };

/** The answer is a JSON body, or the last event of a stream. */
function answerIn(text: string): Answer | null {
  const events = text.startsWith('{')
    ? [text]
    : text
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5));
  for (const event of events.toReversed()) {
    try {
      const message = JSON.parse(event) as Answer;
      if (message.result !== undefined || typeof message.error === 'object') return message;
    } catch {
      // a comment or half an event
    }
  }
  return null;
}

/** Header values are visible ASCII; others travel as the protocol says, and so does what would be read as one that does. */
export const headerValue = (text: string): string =>
  /^[\x21-\x7e]+$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** Not `fetch`: that gives up after five minutes without a header, and a command may take ten. */
function post({ endpoint, timeoutMs }: McpTarget, body: string, headers: Record<string, string>): Promise<HttpAnswer> {
  const open = endpoint.startsWith('https:') ? requestTls : request;
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) =>
      reject(
        signal.aborted
          ? new CliError(
              `no answer within ${timeoutMs / 1000} s; the call was given up, and what it did until then stands in: cortex events --last 10`,
            )
          : new CliError(`${endpoint} cannot be reached: ${cause.message}; see cortex status`, EXIT.notRunning, {
              cause,
            }),
      );
    const onAnswer = (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', fail);
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(chunks).toString('utf8'),
          retryAfter: response.headers['retry-after'],
        }),
      );
    };
    open(
      endpoint,
      { method: 'POST', headers: { ...headers, 'content-length': Buffer.byteLength(body) }, signal },
      onAnswer,
    )
      .once('error', fail)
      .end(body);
  });
}
