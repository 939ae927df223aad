import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '@cortex/contracts/is-object';
import { KNOWN_PROFILES, profileOf } from '../federation/schemas/profiles.js';
import type { CallMeta, ClientSaid, ListOptions } from '../seams.js';
import { fault, headerValue, META, type ModernRequest, RPC, type RpcFault, type RpcId } from './envelope.js';

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACESTATE_LIMIT = 512;
const BAGGAGE = /^[\t\x20\x21\x23-\x5b\x5d-\x7e]{1,8192}$/;
/** Characters of a client's name that rules are compared with. */
const MAX_CLIENT = 128;

/**
 * What of a request's `_meta` and headers a call reads. Everything else of a client's `_meta` is ignored, above all other
 * `cortex/` keys (threat T12); an invalid trace context counts as absent.
 */
export function callMeta(meta: unknown, headers: IncomingHttpHeaders): CallMeta {
  const given = isObject(meta) ? meta : {};
  const { progressToken: progress, 'cortex/idempotencyKey': key } = given;
  const fromMeta = typeof given.traceparent === 'string' && TRACEPARENT.test(given.traceparent);
  const traceparent = fromMeta ? (given.traceparent as string) : headerValue(headers, 'traceparent');
  const tracestate = fromMeta ? given.tracestate : headerValue(headers, 'tracestate');
  const traced = traceparent !== undefined && TRACEPARENT.test(traceparent);
  const baggage = given.baggage ?? headerValue(headers, 'baggage');
  return {
    ...((typeof progress === 'string' || Number.isSafeInteger(progress)) && {
      progress_token: progress as string | number,
    }),
    // One that is no text is refused later, not forgotten: its caller relies on it.
    ...(key !== undefined && { idempotency_key: typeof key === 'string' ? key : '' }),
    ...(traced && { traceparent }),
    ...(traced && typeof tracestate === 'string' && tracestate.length <= TRACESTATE_LIMIT && { tracestate }),
    ...(typeof baggage === 'string' && BAGGAGE.test(baggage) && { baggage }),
  };
}

/** Of the trace that the caller says it is in; for records of requests, which have no span. */
export const traceIdOf = (meta: unknown, headers: IncomingHttpHeaders): string | undefined =>
  callMeta(meta, headers).traceparent?.slice(3, 35);

/** What a request of the modern era says of its client: each one says it anew. */
export function clientSaid({ meta, params }: Pick<ModernRequest, 'meta' | 'params'>): ClientSaid {
  const { [META.clientInfo]: info, [META.capabilities]: capabilities, [META.logLevel]: level } = meta;
  const { inputResponses: responses, requestState: state } = params;
  return {
    ...(info !== undefined && { info }),
    ...(isObject(capabilities) && { capabilities }),
    ...(typeof level === 'string' && { log_level: level }),
    ...(responses !== undefined && { input_responses: responses }),
    ...(state !== undefined && { request_state: state }),
  };
}

const SETTINGS = ['backends', 'mode', 'schema'] as const;

/** What of a URL is fixed for its connection, to be written behind the query of another one: HTTP+SSE has one for its messages. */
export function connectionSettings(url = ''): string {
  const query = queryOf(url);
  return SETTINGS.map((name) => [name, query?.get(name)] as const)
    .flatMap(([name, value]) => (typeof value === 'string' ? [`&${name}=${encodeURIComponent(value)}`] : []))
    .join('');
}

const queryOf = (url: string): URLSearchParams | undefined =>
  url.includes('?') ? new URLSearchParams(url.slice(url.indexOf('?') + 1)) : undefined;

/**
 * How the client asked for its list: by headers, or fixed for a connection in the URL; a header wins (gateway, sections 13.8 and 21). `info`
 * is what it says of itself.
 */
export function listOptions(headers: IncomingHttpHeaders, url = '', info?: unknown): ListOptions {
  const query = queryOf(url);
  const ids = headerValue(headers, 'x-cortex-backends') ?? query?.get('backends') ?? undefined;
  const mode = headerValue(headers, 'x-cortex-tool-mode') ?? query?.get('mode') ?? undefined;
  const schemas = headerValue(headers, 'x-cortex-schema-profile') ?? query?.get('schema') ?? undefined;
  const client = isObject(info) ? info['name'] : undefined;
  const backends =
    ids === undefined ? undefined : [...new Set(ids.toLowerCase().split(/[\s,]+/))].filter(Boolean).sort();
  // An empty value asks for the built-ins alone.
  return {
    ...(backends !== undefined && { backends }),
    ...(mode?.toLowerCase() === 'search' && { search: true }),
    ...(schemas !== undefined && { schemas }),
    ...(typeof client === 'string' && { client: client.slice(0, MAX_CLIENT) }),
  };
}

/** Why a list cannot be given as it was asked for; undefined when it can. */
export function listFault({ schemas }: ListOptions, id?: RpcId): RpcFault | undefined {
  if (schemas === undefined || profileOf(schemas) !== undefined) return undefined;
  const message = `Unknown schema profile: ${schemas.slice(0, 100)}; use one of ${KNOWN_PROFILES.join(', ')}, or several steps with commas`;
  return fault(RPC.invalidParams, message, { id, data: { profiles: KNOWN_PROFILES } });
}

/** Tools that show what lists show, in the form in which this request would get one; a client may have put its prefix before them. */
const SHOWING = /^(?:mcp__.+?__)?(?:find_tools|list_cortex_resources)$/;
export const callList = (name: unknown, options: () => ListOptions): { list?: ListOptions } =>
  typeof name === 'string' && SHOWING.test(name) ? { list: options() } : {};
