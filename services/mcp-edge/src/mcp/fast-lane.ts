import type { Catalog } from '../catalog/catalog.js';
import type { PreparedLists } from '../catalog/lists.js';
import {
  type Authenticator,
  type CallOutcome,
  Cancellation,
  type HttpExchange,
  MODERN,
  type RecordRequest,
  type RunCall,
} from '../seams.js';
import { type Answers, rpcErrorText } from './answer.js';
import type { Methods } from '../methods/methods.js';
import { Relay } from '../methods/relay.js';
import { callList, callMeta, clientSaid, listFault, listOptions, traceIdOf } from './call-meta.js';
import { META, type ModernRequest, type RpcId } from './envelope.js';
import type { LongAnswers, PendingAnswer } from './long-answers.js';
import { callFault } from './param-headers.js';
import { resultTail } from './render.js';

export interface FastLaneOptions {
  catalog: Catalog;
  lists: PreparedLists;
  runCall: RunCall;
  methods: Pick<Methods, 'toolPage'>;
  answers: Answers;
  authenticator: Authenticator;
  recordRequest: RecordRequest;
  long: LongAnswers;
  serverInfo: string;
}

/** `tools/call` and `tools/list` of the modern era: no server object, no schema, no parse of a result. */
export class FastLane {
  constructor(private readonly options: FastLaneOptions) {}

  static takes(method: string): boolean {
    return method === 'tools/call' || method === 'tools/list';
  }

  serve(exchange: HttpExchange, request: ModernRequest): void | Promise<void> {
    return request.method === 'tools/call' ? this.#call(exchange, request) : this.#list(exchange, request);
  }

  #list(exchange: HttpExchange, { id, params, meta }: ModernRequest): void {
    const { lists, methods, answers, recordRequest } = this.options;
    const trace_id = traceIdOf(meta, exchange.headers);
    const note = { method: 'tools/list', era: 'modern' as const, protocol_version: MODERN, params, trace_id };
    const options = listOptions(exchange.headers, exchange.req.url, meta[META.clientInfo]);
    const unknown = listFault(options, id);
    if (unknown !== undefined) {
      answers.rpcError(exchange, unknown.status, id, unknown);
      recordRequest(exchange, { ...note, outcome: 'failed', error_code: String(unknown.code), result_bytes: 0 });
      return;
    }
    const list = lists.get(exchange.caller, MODERN, options);
    const result = methods.toolPage(list, exchange.caller, params['cursor']);
    if ('kind' in result) {
      answers.rpcError(exchange, result.status, id, result);
      recordRequest(exchange, { ...note, outcome: 'failed', error_code: String(result.code), result_bytes: 0 });
      return;
    }
    answers.rpcResult(exchange, id, result);
    recordRequest(exchange, {
      ...note,
      outcome: 'succeeded',
      result_bytes: result.length,
      listed: { list: result, options },
    });
  }

  async #call(exchange: HttpExchange, request: ModernRequest): Promise<void> {
    const { catalog, answers, long, runCall } = this.options;
    const { id, params, meta } = request;
    const fault = callFault(catalog, request, exchange.headers);
    if (fault !== undefined) {
      answers.rpcError(exchange, fault.status, id, fault);
      this.#recordFault(exchange, fault.code);
      return;
    }
    const cancel = new Cancellation();
    // In this era the client's going away is the cancellation, of a JSON answer too.
    exchange.res.on('close', () => exchange.res.writableEnded || cancel.cancel());
    const pending = acceptsStream(exchange) ? long.begin(exchange) : undefined;
    const callsMeta = callMeta(meta, exchange.headers);
    const client = clientSaid(request);
    const relay = pending && Relay.wanted({ meta: callsMeta, client, send: (message) => long.tell(pending, message) });
    const outcome = await runCall({
      caller: exchange.caller,
      name: params['name'] as string,
      args: params['arguments'],
      ...callList(params['name'], () => listOptions(exchange.headers, exchange.req.url, meta[META.clientInfo])),
      era: 'modern',
      revision: MODERN,
      transport: 'http',
      meta: callsMeta,
      client,
      ...(relay && { events: relay }),
      cancel,
      rpc_id: id,
      origin: exchange.headers.origin,
      request_id: exchange.request_id,
    });
    relay?.end();
    if (pending !== undefined) long.end(pending);
    this.#answer(exchange, id, outcome, pending);
  }

  #answer(exchange: HttpExchange, id: RpcId, outcome: CallOutcome, pending: PendingAnswer | undefined): void {
    const { answers, serverInfo } = this.options;
    if (outcome.kind === 'error') return this.#error(exchange, id, outcome, pending);
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{`;
    const tail = `${resultTail(outcome, MODERN, serverInfo)}}`;
    const { members } = outcome;
    if (pending?.streaming === true) {
      const text = typeof members === 'string' ? members : Buffer.from(members).toString('utf8');
      return endStream(exchange, head + text + tail);
    }
    if (typeof members === 'string') answers.json(exchange, 200, head + members + tail);
    else answers.spliced(exchange, head, members, tail);
  }

  #error(
    exchange: HttpExchange,
    id: RpcId,
    outcome: Extract<CallOutcome, { kind: 'error' }>,
    pending: PendingAnswer | undefined,
  ): void {
    const { answers, authenticator } = this.options;
    const { code, message, data, status, required_scopes } = outcome;
    const error = { code, message, data };
    if (pending?.streaming === true) return endStream(exchange, rpcErrorText(id, error));
    const challenge =
      required_scopes === undefined || status !== 403
        ? undefined
        : authenticator.scopeChallenge(exchange.req, required_scopes);
    answers.rpcError(exchange, status, id, error, challenge && { ...challenge });
  }

  /** Refused before there was a call: the request alone is recorded. */
  #recordFault(exchange: HttpExchange, code: number): void {
    const { recordRequest } = this.options;
    recordRequest(exchange, {
      method: 'tools/call',
      era: 'modern',
      protocol_version: MODERN,
      outcome: 'denied',
      error_code: String(code),
      result_bytes: 0,
    });
  }
}

const endStream = ({ res }: HttpExchange, message: string): void => {
  if (!res.destroyed) res.end(`event: message\ndata: ${message}\n\n`);
};

export const acceptsStream = ({ headers }: Pick<HttpExchange, 'headers'>): boolean =>
  headers.accept?.includes('text/event-stream') === true;
