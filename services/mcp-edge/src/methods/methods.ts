import type { Sealer } from '@cortex/auth';
import { hash } from 'node:crypto';
import { isObject } from '@cortex/contracts/is-object';
import type { KeptMedia } from '../calls/kept-media.js';
import { failureOf } from '../federation/failures.js';
import type { Federation } from '../federation/federation.js';
import { stripOwnMeta } from '../federation/own-meta.js';
import { toldBy } from '../federation/provenance.js';
import { wantsPerson } from '../federation/reach.js';
import type { Backend, BackendAnswer } from '../federation/types.js';
import { RPC } from '../mcp/envelope.js';
import type { CallerContext, EdgeLog } from '../seams.js';
import { type Attribution, attributionOf } from './attribution.js';
import { completionAsked, completionOf } from './completion.js';
import { contentsOf, ttlOf } from './contents.js';
import { contextText } from './context.js';
import { badParams, faultOf, noResource, noScope, refused, unknownPrompt } from './faults.js';
import { type Item, listed, maySee, promptOf, resourceOf } from './items.js';
import type { OwnResource } from './own-resources.js';
import { Pages } from './pages.js';
import { argumentsOf, promptFault, toldMessages } from './prompts.js';
import type { Bound, RoundTrips } from './round-trips.js';
import { pageOfTools } from './tool-pages.js';
import type { Json, MethodAsk, MethodFault, MethodOutcome } from './types.js';

export interface MethodsOptions {
  readonly federation: Pick<Federation, 'current' | 'shelves'>;
  readonly own: readonly OwnResource[];
  /** What was too large for the results of calls. */
  readonly media: Pick<KeptMedia, 'read' | 'links'>;
  readonly roundTrips: RoundTrips;
  readonly sealer: Sealer;
  /** Items of a page; 0: everything on one. */
  readonly pageSize: number;
  /** HTTP status of a missing scope. */
  readonly scopeStatus: number;
  readonly log: EdgeLog;
}

type Good = Extract<BackendAnswer, { kind: 'result' }>;

/**
 * Prompts, resources and completions of the backends, for both eras: who may see what, which backend a request is for, and what of its answer
 * reaches the caller. Source: gateway, sections 8, 12 and 13.4.
 */
export class Methods {
  readonly #pages: Pages;

  constructor(private readonly options: MethodsOptions) {
    this.#pages = new Pages(options.sealer, options.pageSize);
  }

  /** Never throws but for a bug of our own. */
  async serve(ask: MethodAsk): Promise<MethodOutcome> {
    try {
      switch (ask.method) {
        case 'prompts/list':
          return this.#list(ask, 'prompts', this.#seen('prompts', ask));
        case 'resources/list':
          return this.#list(ask, 'resources', this.resources(ask).resources);
        case 'resources/templates/list':
          return this.#list(ask, 'resourceTemplates', this.#seen('templates', ask));
        case 'prompts/get':
          return await this.#prompt(ask);
        case 'resources/read':
          return await this.#read(ask);
        case 'completion/complete':
          return await this.#complete(ask);
      }
    } catch (error) {
      return faultOf(error);
    }
  }

  /** The page of a prepared `tools/list` that is asked for. */
  toolPage(list: Buffer, caller: CallerContext, cursor: unknown): Buffer | MethodFault {
    try {
      return pageOfTools(this.#pages, list, caller, cursor);
    } catch (error) {
      return faultOf(error);
    }
  }

  /** Every resource and every template that a caller sees in its lists, on one page. */
  resources(ask: Pick<MethodAsk, 'caller' | 'list'>): { resources: Json[]; resourceTemplates: Json[] } {
    const own = this.options.own.map(({ listing }) => listing);
    return { resources: [...own, ...this.#seen('resources', ask)], resourceTemplates: this.#seen('templates', ask) };
  }

  /** For the record of a request of these methods. */
  attribution(asked: { method: string; params: Json }): Attribution {
    const { federation, own, media } = this.options;
    const isOwn = (uri: string): boolean => media.links(uri) || own.some((one) => one.uri === uri);
    return attributionOf(asked, federation.current, federation.shelves.values(), isOwn);
  }

  /** Whether a caller may be told that this resource changed. */
  knows(uri: string, caller: CallerContext): boolean {
    if (this.options.own.some((one) => one.uri === uri)) return true;
    const item = resourceOf(this.options.federation.current, uri);
    return item !== undefined && maySee(item, caller);
  }

  /** Changes when the caller sees another list of this kind. */
  view(kind: 'prompts' | 'resources', caller: CallerContext): string {
    const { current } = this.options.federation;
    const items: Item[] = kind === 'prompts' ? [...current.prompts] : [...current.resources, ...current.templates];
    return versionOf(items.filter((item) => maySee(item, caller)).map(listed));
  }

  #seen(kind: 'prompts' | 'resources' | 'templates', { caller, list }: Pick<MethodAsk, 'caller' | 'list'>): Json[] {
    const items: readonly Item[] = this.options.federation.current[kind];
    const { backends } = list;
    return items
      .filter((item) => maySee(item, caller) && (backends === undefined || backends.includes(item.backend.id)))
      .map(listed);
  }

  #list({ method, caller, params }: MethodAsk, key: string, items: readonly Json[]): MethodOutcome {
    const of = { method, caller, version: versionOf(items), cursor: params['cursor'] };
    const { items: shown, ...more } = this.#pages.page(items, of);
    return { kind: 'result', value: { [key]: shown, ...more } };
  }

  async #prompt(ask: MethodAsk): Promise<MethodOutcome> {
    const { params, caller } = ask;
    const { name } = params;
    if (typeof name !== 'string') throw badParams('params.name is missing; name the prompt');
    const prompt = promptOf(this.options.federation.current, name);
    if (prompt === undefined) throw unknownPrompt(name);
    const { backend, original } = prompt;
    this.#permit(prompt, caller);
    const args = argumentsOf(prompt, params['arguments']);
    const bound = { backend, item: original, method: ask.method, caller, args };
    const answer = await this.#asked(ask, bound, 'get_prompt', { name: original, arguments: args });
    if (isQuestion(answer.value)) return this.#question(ask, bound, answer.value);
    const fault = promptFault(answer.value) ?? unclean(answer.value);
    if (fault !== undefined) throw this.#invalid(backend, 'get_prompt', fault, caller);
    const { description, _meta: meta } = answer.value as Json & { _meta?: Json };
    const value = {
      ...(description !== undefined && { description }),
      messages: toldMessages(answer.value as Json, toldBy(backend, caller)),
      _meta: { ...meta, ...sourceOf(backend, { prompt: original }) },
    };
    return { kind: 'result', value };
  }

  async #read(ask: MethodAsk): Promise<MethodOutcome> {
    const { caller, params, era } = ask;
    const { uri } = params;
    if (typeof uri !== 'string') throw badParams('params.uri is missing; name the resource');
    const own = this.options.own.find((one) => one.uri === uri);
    const cache = (ttlMs: number) => (era === 'modern' ? { ttlMs, cacheScope: 'private' } : {});
    if (own !== undefined) {
      const contents = [{ uri, mimeType: own.mimeType, text: own.read(caller) }];
      return { kind: 'result', value: { contents, ...cache(0) } };
    }
    const kept = await this.options.media.read(uri, caller);
    if (kept !== undefined) return { kind: 'result', value: { contents: [kept], ...cache(0) } };
    const item = resourceOf(this.options.federation.current, uri);
    if (item === undefined) throw noResource(uri, era);
    const { backend } = item;
    this.#permit(item, caller);
    const bound = { backend, item: uri, method: ask.method, caller, args: {} };
    const answer = await this.#asked(ask, bound, 'read_resource', { uri });
    if (isQuestion(answer.value)) return this.#question(ask, bound, answer.value);
    const deep = unclean(answer.value);
    const contents = deep ?? contentsOf(backend, answer.value, toldBy(backend, caller));
    if (typeof contents === 'string') throw this.#invalid(backend, 'read_resource', contents, caller);
    if (contents.length === 0) throw noResource(uri, era);
    const retried = params['inputResponses'] !== undefined || params['requestState'] !== undefined;
    const meta = (answer.value as { _meta?: unknown })._meta;
    const value = {
      contents,
      ...cache(retried ? 0 : ttlOf(answer.value)),
      _meta: { ...(isObject(meta) && meta), ...sourceOf(backend, { uri }) },
    };
    return { kind: 'result', value };
  }

  async #complete(ask: MethodAsk): Promise<MethodOutcome> {
    const { item, params } = completionAsked(this.options.federation.current, ask.params);
    const { backend } = item;
    this.#permit(item, ask.caller);
    const answer = await this.#answer(ask, backend, 'complete', params, '{}');
    // A backend without such a method suggests nothing.
    if (answer.kind === 'refused' && answer.status === 404)
      return { kind: 'result', value: { completion: { values: [] } } };
    const good = this.#good(ask, backend, 'complete', answer);
    const completion = completionOf(good.value);
    if (completion === undefined) throw this.#invalid(backend, 'complete', 'it completes nothing', ask.caller);
    return { kind: 'result', value: { completion } };
  }

  #permit(item: Item, caller: CallerContext): void {
    if (!caller.scopes.has(item.scope)) throw noScope([item.scope], caller, this.options.scopeStatus);
    if (wantsPerson(item.backend, caller))
      throw refused(RPC.internal, `${item.backend.id} wants the token of a person, which a session does not hold`, {
        kind: 'permission_denied',
        reason: 'refused_by_composition',
      });
  }

  async #asked(ask: MethodAsk, bound: Bound, method: string, params: Json): Promise<Good> {
    const { backend } = bound;
    const { era, revision, meta, client, requestId, caller } = ask;
    const opened = this.options.roundTrips.opened(bound, client);
    const context = contextText({ requestId, era, revision, meta, client, opened });
    const answer = await this.#answer(ask, backend, method, params, context);
    if (method === 'read_resource' && answer.kind === 'refused' && answer.status === 404)
      throw noResource(String(params['uri']), era);
    const good = this.#good(ask, backend, method, answer);
    if (answer.kind === 'result' && answer.value === null) throw this.#invalid(backend, method, 'it is null', caller);
    return good;
  }

  async #answer(
    ask: MethodAsk,
    backend: Backend,
    method: string,
    params: Json,
    context: string,
  ): Promise<BackendAnswer> {
    const { caller, meta, events, cancel, requestId } = ask;
    const shelf = this.options.federation.shelves.get(backend.id);
    if (shelf === undefined) throw new Error(`there is no backend ${backend.id}`);
    const pending = shelf.client.call({
      method,
      params: JSON.stringify(params),
      context,
      as: caller,
      requestId,
      ...(meta.traceparent !== undefined && { traceparent: meta.traceparent }),
      ...(meta.tracestate !== undefined && { tracestate: meta.tracestate }),
      ...(meta.baggage !== undefined && { baggage: meta.baggage }),
      ...(events !== undefined && { events }),
    });
    cancel.onCancel = () => pending.abort();
    try {
      return await pending.answer;
    } finally {
      cancel.onCancel = undefined;
    }
  }

  #good({ caller, requestId }: MethodAsk, backend: Backend, method: string, answer: BackendAnswer): Good {
    if (answer.kind === 'result') return answer;
    if (answer.kind === 'invalid')
      this.options.log.warn(
        { request_id: requestId, backend: backend.id, method, why: answer.why },
        'a backend sent an invalid response',
      );
    throw failureOf(backend, answer, method, toldBy(backend, caller));
  }

  #question({ client }: MethodAsk, bound: Bound, value: Json): MethodOutcome {
    return { kind: 'input_required', value: this.options.roundTrips.asked(bound, client, value) };
  }

  #invalid(backend: Backend, method: string, why: string, caller: CallerContext): Error {
    this.options.log.warn({ backend: backend.id, method, why }, 'a backend sent an invalid response');
    return failureOf(backend, { kind: 'invalid', why }, method, toldBy(backend, caller));
  }
}

const versionOf = (items: readonly Json[]): string => hash('sha256', JSON.stringify(items), 'base64url');

const isQuestion = (value: unknown): value is Json => isObject(value) && value['resultType'] === 'input_required';

/** Takes our keys out of every `_meta`; says so where that cannot be done. */
function unclean(value: unknown): string | undefined {
  try {
    stripOwnMeta(value);
    return undefined;
  } catch {
    return 'it is nested too deeply';
  }
}

/** Under `cortex/provenance` in the `_meta` of a result. */
const sourceOf = ({ id }: Backend, what: { prompt: string } | { uri: string }): Json => ({
  'cortex/provenance': { backend: id, ...what, kind: 'contract', servedAt: new Date().toISOString() },
});
