import { isObject } from '@cortex/contracts/is-object';
import type { Delivered } from '../calls/dispatch.js';
import type { CallerContext } from '../seams.js';
import { failureOf, kindOf } from './failures.js';
import { membersOf } from './json-text.js';
import { stripOwnMeta } from './own-meta.js';
import { provenanceOf, toldBy } from './provenance.js';
import type { BackendAnswer, FederatedTool } from './types.js';

/** Whether a business error of a backend is a result with `isError` or an error of JSON-RPC. */
export type ErrorStyle = 'result' | 'rpc';

type Json = Record<string, unknown>;

/**
 * The answer of a backend to `tools/call` as the inside of a CallToolResult, or of the questions that `ask` makes of its own. Throws the
 * error of section 7.2 where there is neither.
 * Source: gateway, sections 12.5, 12.7 and 14.2.
 */
export function deliveredOf(
  tool: FederatedTool,
  answer: BackendAnswer,
  caller: CallerContext,
  style: ErrorStyle,
  ask: (value: Json) => object,
): Delivered {
  const told = toldBy(tool.backend, caller);
  if (answer.kind === 'result' && answer.native && isQuestion(answer.value))
    return {
      members: JSON.stringify(ask(answer.value)).slice(1, -1),
      is_error: false,
      result_type: 'input_required',
      meta: provenanceOf(tool),
    };
  if (answer.kind === 'result') return answer.native ? native(tool, answer, told) : wrapped(tool, answer, told);
  if (answer.kind === 'refused' && isBusiness(answer.status) && style === 'result') {
    const { status, body } = answer;
    const error = answer.error ?? `${tool.backend.id} refused the call with status ${status}`;
    return {
      members: `"content":[${textBlock(told(error))}]`,
      is_error: true,
      fault: { kind: kindOf(status) },
      meta: {
        ...provenanceOf(tool),
        'cortex/backendError': { status, body: told(error) === error ? (body ?? null) : { error: told(error) } },
      },
    };
  }
  throw failureOf(tool.backend, answer, tool.original, told);
}

const isBusiness = (status: number): boolean => status < 500 && status !== 401 && status !== 403;

const textBlock = (text: string): string => `{"type":"text","text":${JSON.stringify(text)}}`;

/** Level 1: any JSON becomes one block of text, a string as it is. */
function wrapped(
  tool: FederatedTool,
  { text, value }: Extract<BackendAnswer, { kind: 'result' }>,
  told: (text: string) => string,
): Delivered {
  const shown = told(typeof value === 'string' ? value : text);
  return {
    members: `"content":[${textBlock(shown)}]`,
    ...(tool.schemaTexts.output !== undefined && { structured: text }),
    is_error: false,
    meta: provenanceOf(tool),
  };
}

/** Level 2: the result is one already; its form is looked at and its parts are told apart from what we say ourselves. */
function native(
  tool: FederatedTool,
  { text, value }: Extract<BackendAnswer, { kind: 'result' }>,
  told: (text: string) => string,
): Delivered {
  const fault = resultFault(value);
  if (fault !== undefined) throw failureOf(tool.backend, { kind: 'invalid', why: fault }, tool.original, told);
  const result = value as Json & { content?: Json[] };
  try {
    stripOwnMeta(result);
  } catch {
    throw failureOf(tool.backend, { kind: 'invalid', why: 'its result is nested too deeply' }, tool.original, told);
  }
  const content = (result.content ?? []).map((block) => toldBlock(block, told));
  let members = `"content":${JSON.stringify(content)}`;
  const given = membersOf(text);
  for (const [key, json] of given) if (!OWN_MEMBERS.has(key)) members += `,${JSON.stringify(key)}:${json}`;
  const structured = given.get('structuredContent');
  const meta = { ...(result['_meta'] as Json | undefined), ...provenanceOf(tool) };
  return { members, ...(structured !== undefined && { structured }), is_error: result['isError'] === true, meta };
}

/** What is said anew, is looked at first, or is said by the edge. */
const OWN_MEMBERS = new Set(['content', 'structuredContent', 'isError', '_meta', 'resultType']);

/** Every text that a model would read, told as this caller may be told. */
export function toldBlock(block: Json, told: (text: string) => string): Json {
  if (block['type'] === 'text') return { ...block, text: told(String(block['text'])) };
  const resource = block['resource'] as Json | undefined;
  if (block['type'] !== 'resource' || typeof resource?.['text'] !== 'string') return block;
  return { ...block, resource: { ...resource, text: told(resource['text']) } };
}

/** Why a value is no CallToolResult; undefined when it is one. */
function resultFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'its result is no object';
  const { content, structuredContent, isError, _meta: meta, resultType = 'complete' } = value;
  if (resultType !== 'complete') return `its result is of the type ${String(resultType).slice(0, 32)}`;
  if (content === undefined && structuredContent === undefined) return 'its result has no content';
  if (isError !== undefined && typeof isError !== 'boolean') return 'isError of its result is no boolean';
  if (meta !== undefined && !isObject(meta)) return '_meta of its result is no object';
  if (content === undefined) return undefined;
  if (!Array.isArray(content)) return 'content of its result is no list';
  return content.every(isBlock) ? undefined : 'content of its result holds what is no block';
}

/** Whether a value is a block of content of the protocol. */
export function isBlock(block: unknown): block is Json {
  if (!isObject(block)) return false;
  const text = (key: string): boolean => typeof block[key] === 'string';
  switch (block['type']) {
    case 'text':
      return text('text');
    case 'image':
    case 'audio':
      return text('data') && text('mimeType');
    case 'resource_link':
      return text('uri') && text('name');
    case 'resource': {
      const { resource } = block;
      if (!isObject(resource) || typeof resource['uri'] !== 'string') return false;
      return typeof resource['text'] === 'string' || typeof resource['blob'] === 'string';
    }
    default:
      return false;
  }
}

const isQuestion = (value: unknown): value is Json => isObject(value) && value['resultType'] === 'input_required';
