import { isObject } from '@cortex/contracts/is-object';
import type { Json } from './types.js';

/** What a backend may ask of a client. */
export type Question =
  | { readonly method: 'elicitation/create'; readonly params: Json }
  | { readonly method: 'sampling/createMessage'; readonly params: Json }
  | { readonly method: 'roots/list'; readonly params?: Json };
export type Questions = Readonly<Record<string, Question>>;

/** The questions of a backend, well-formed and without what this client cannot give; a sentence says why they are none. */
export function questionsOf(value: unknown, capabilities: Json): Questions | string {
  if (value === undefined) return {};
  if (!isObject(value)) return 'its inputRequests are no object';
  const questions: Record<string, Question> = {};
  for (const [key, entry] of Object.entries(value)) {
    const question = questionOf(entry, capabilities);
    if (typeof question === 'string') return question;
    questions[key] = question;
  }
  return questions;
}

function questionOf(entry: unknown, capabilities: Json): Question | string {
  if (!isObject(entry)) return 'one of its inputRequests is no object';
  const { method, params } = entry;
  if (params !== undefined && !isObject(params)) return 'the params of one of its inputRequests are no object';
  switch (method) {
    case 'roots/list':
      return { method, ...(params && { params }) };
    case 'sampling/createMessage':
      if (!Array.isArray(params?.['messages']) || typeof params['maxTokens'] !== 'number')
        return 'one of its inputRequests samples without messages and maxTokens';
      return { method, params: withoutContext(params, capabilities) };
    case 'elicitation/create':
      return elicitationOf(params ?? {});
    default:
      return `one of its inputRequests is ${String(method).slice(0, 64)}, which no client answers`;
  }
}

function elicitationOf(params: Json): Question | string {
  const { mode = 'form', message, url, requestedSchema } = params;
  if (typeof message !== 'string') return 'one of its inputRequests elicits without a message';
  if (mode === 'url') {
    if (typeof url !== 'string' || !URL.canParse(url)) return 'one of its inputRequests elicits by a URL that is none';
    return { method: 'elicitation/create', params: { mode, message, url } };
  }
  if (mode !== 'form' || !isObject(requestedSchema) || requestedSchema['type'] !== 'object')
    return 'one of its inputRequests elicits without the schema of a form';
  return { method: 'elicitation/create', params };
}

/** Context of other servers is asked only of a client that says it gives some. */
function withoutContext(params: Json, { sampling }: Json): Json {
  const { includeContext, ...rest } = params;
  const given = isObject(sampling) && isObject(sampling['context']);
  return includeContext === undefined || includeContext === 'none' || given ? params : rest;
}

/** The capabilities that the questions need and the client did not declare, as a capability object; undefined when it can answer all. */
export function missingCapabilities(questions: Questions, declared: Json): Json | undefined {
  const missing: Record<string, Record<string, unknown>> = {};
  for (const { method, params } of Object.values(questions)) {
    if (method === 'roots/list') {
      if (!isObject(declared['roots'])) missing['roots'] ??= {};
    } else if (method === 'sampling/createMessage') {
      const { sampling } = declared;
      const tools = params['tools'] !== undefined || params['toolChoice'] !== undefined;
      if (!isObject(sampling)) missing['sampling'] ??= {};
      if (tools && !(isObject(sampling) && isObject(sampling['tools'])))
        missing['sampling'] = { ...missing['sampling'], tools: {} };
    } else {
      const mode = params['mode'] === 'url' ? 'url' : 'form';
      if (!elicits(declared['elicitation'], mode)) missing['elicitation'] = { ...missing['elicitation'], [mode]: {} };
    }
  }
  return Object.keys(missing).length === 0 ? undefined : missing;
}

/** A bare `elicitation: {}` means forms. */
const elicits = (elicitation: unknown, mode: 'form' | 'url'): boolean =>
  isObject(elicitation) && (isObject(elicitation[mode]) || (mode === 'form' && Object.keys(elicitation).length === 0));
