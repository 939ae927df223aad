import type { IncomingHttpHeaders } from 'node:http';
import type { CallMeta, ListOptions } from '../seams.js';
import { headerValue, isObject } from './envelope.js';

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACESTATE_LIMIT = 512;
const KEY_LIMIT = 256;

/**
 * What of a request's `_meta` and headers a call reads. Everything else of a client's `_meta` is ignored, above all other
 * `cortex/` keys (threat T12); what is invalid counts as absent.
 */
export function callMeta(meta: unknown, headers: IncomingHttpHeaders): CallMeta {
  const given = isObject(meta) ? meta : {};
  const { progressToken: progress, 'cortex/idempotencyKey': key } = given;
  const fromMeta = typeof given.traceparent === 'string' && TRACEPARENT.test(given.traceparent);
  const traceparent = fromMeta ? (given.traceparent as string) : headerValue(headers, 'traceparent');
  const tracestate = fromMeta ? given.tracestate : headerValue(headers, 'tracestate');
  const traced = traceparent !== undefined && TRACEPARENT.test(traceparent);
  return {
    ...((typeof progress === 'string' || Number.isSafeInteger(progress)) && {
      progress_token: progress as string | number,
    }),
    ...(typeof key === 'string' && key !== '' && key.length <= KEY_LIMIT && { idempotency_key: key }),
    ...(traced && { traceparent }),
    ...(traced && typeof tracestate === 'string' && tracestate.length <= TRACESTATE_LIMIT && { tracestate }),
  };
}

/** How the client asked for its list (gateway, section 21). */
export function listOptions(headers: IncomingHttpHeaders): ListOptions {
  const backends = headerValue(headers, 'x-cortex-backends')
    ?.split(/[\s,]+/)
    .filter(Boolean);
  const search = headerValue(headers, 'x-cortex-tool-mode')?.toLowerCase() === 'search';
  return { ...(backends && backends.length > 0 && { backends }), ...(search && { search }) };
}
