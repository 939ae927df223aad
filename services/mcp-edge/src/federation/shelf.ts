import type { EdgeLog } from '../seams.js';
import type { BackendClient } from './client.js';
import {
  type Known,
  listOf,
  type Read,
  readPrompts,
  readResources,
  readTemplates,
  readTools,
  type Rules,
} from './declarations.js';
import type { Backend, BackendAnswer, BadSchema, Declared, Review, Reviewed } from './types.js';

const NOTHING: Declared = { tools: [], prompts: [], templates: [], resources: [] };
const NO_REVIEW: Reviewed = { served: NOTHING, held: [] };

/** The lists of the contract: which method gives which, and how its items are read. */
const LISTS = {
  tools: { method: 'list_tools', key: 'tools', read: readTools },
  prompts: { method: 'list_prompts', key: 'prompts', read: readPrompts },
  templates: { method: 'list_resource_templates', key: 'resourceTemplates', read: readTemplates },
  resources: { method: 'list_resources', key: 'resources', read: readResources },
} as const;
type ListName = keyof typeof LISTS;
const OPTIONAL = ['prompts', 'templates', 'resources'] as const;

export interface ShelfOptions {
  readonly backend: Backend;
  readonly client: BackendClient;
  readonly rules: Rules;
  readonly review: Review;
  readonly log: EdgeLog;
  readonly requestId: () => string;
}

/**
 * What one backend has declared. A refresh is all or nothing: without a good `list_tools` nothing of it is offered until it answers again,
 * while what it declared last is kept for its names and approvals. Source: gateway, section 13.5.
 */
export class Shelf {
  readonly backend: Backend;
  readonly client: BackendClient;
  /** Null until it was asked once. */
  healthy: boolean | null = null;
  /** What the last refresh met, for operators. */
  problem: string | undefined;
  /** ISO time of the first refresh that it failed, of all since it last answered or since the start. */
  awaySince: string | undefined;
  /** As of the last good refresh, whether offered now or not. */
  declared: Declared = NOTHING;
  reviewed: Reviewed = NO_REVIEW;
  readonly #texts = new Map<ListName, string>();
  readonly #reads = new Map<ListName, Read<unknown>>();
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(private readonly options: ShelfOptions) {
    this.backend = options.backend;
    this.client = options.client;
  }

  /** Schemas that are not offered, as of the last good refresh: of tools that were left out, and output schemas alone. */
  get badSchemas(): readonly BadSchema[] {
    const left = this.#reads.get('tools')?.badSchemas ?? [];
    const outputs = this.declared.tools.flatMap(({ original, outputFault }) =>
      outputFault === undefined ? [] : [{ tool: original, part: 'outputSchema' as const, ...outputFault }],
    );
    return [...left, ...outputs];
  }

  /** Tools that were declared and are not offered to anybody, by their original names, and why: as of the last good refresh. */
  get leftOut(): ReadonlyMap<string, string> {
    return this.#reads.get('tools')?.leftOut ?? new Map<string, string>();
  }

  /** One at a time, and one more for all who ask while it runs (failure case P26): theirs begins after they asked. */
  refresh(): Promise<void> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#start();
    });
    return this.#next;
  }

  #start(): Promise<void> {
    this.#running = this.#refresh().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #refresh(): Promise<void> {
    const tools = await this.#ask('tools');
    const list = tools.kind === 'result' ? listOf(tools.text, tools.value, LISTS.tools.key) : undefined;
    if (list === undefined) {
      this.problem = problemOf(tools);
      this.awaySince ??= new Date().toISOString();
      this.healthy = false;
      return;
    }
    const texts = new Map<ListName, string>([['tools', list]]);
    await Promise.all(
      OPTIONAL.map(async (name) => {
        const text = await this.#optional(name);
        if (text !== undefined) texts.set(name, text);
      }),
    );
    const changed = Object.keys(LISTS).some(
      (name) => texts.get(name as ListName) !== this.#texts.get(name as ListName),
    );
    if (changed || this.healthy === null) this.#read(texts);
    this.reviewed = await this.options.review(this.backend, this.declared);
    this.problem = this.awaySince = undefined;
    this.healthy = true;
  }

  /** The text of an optional list; undefined when the backend has none. One that fails stays what it was. */
  async #optional(name: (typeof OPTIONAL)[number]): Promise<string | undefined> {
    const answer = await this.#ask(name);
    if (answer.kind === 'refused' && answer.status < 500) return undefined;
    const text = answer.kind === 'result' ? listOf(answer.text, answer.value, LISTS[name].key) : undefined;
    if (text !== undefined) return text;
    const { backend, log } = this.options;
    log.warn(
      { backend: backend.id, list: LISTS[name].method, problem: problemOf(answer) },
      'a list of a backend could not be read; what it gave before stays',
    );
    return this.#texts.get(name);
  }

  #ask(name: ListName): Promise<BackendAnswer> {
    const { client, requestId } = this.options;
    const { method } = LISTS[name];
    return client.call({ method, params: '{}', as: 'technical', requestId: requestId() }).answer;
  }

  #read(texts: ReadonlyMap<ListName, string>): void {
    const { rules, backend, log } = this.options;
    const items = <T>(
      name: ListName,
      read: (rules: Rules, list: string, known?: Known<T>) => Read<T>,
    ): readonly T[] => {
      const before = this.#reads.get(name) as Read<T> | undefined;
      const text = texts.get(name) ?? '[]';
      if (before !== undefined && text === (this.#texts.get(name) ?? '[]')) return before.items;
      const now = read(rules, text, before?.known);
      this.#reads.set(name, now);
      for (const fault of now.faults)
        if (before?.faults.includes(fault) !== true)
          log.warn({ backend: backend.id }, `a declaration was refused: ${fault}`);
      return now.items;
    };
    this.declared = {
      tools: items('tools', LISTS.tools.read),
      prompts: items('prompts', LISTS.prompts.read),
      templates: items('templates', LISTS.templates.read),
      resources: items('resources', LISTS.resources.read),
    };
    this.#texts.clear();
    for (const [name, text] of texts) this.#texts.set(name, text);
  }
}

/** For operators: what a backend answered in place of a list. */
function problemOf(answer: BackendAnswer): string {
  switch (answer.kind) {
    case 'result':
      return 'its answer holds no such list';
    case 'refused':
      return `it answered ${answer.status}`;
    case 'timeout':
      return `no answer within ${answer.afterMs} ms`;
    case 'away':
      return answer.sent ? 'the connection broke' : 'nobody answers there';
    case 'busy':
      return 'it is busy';
    case 'invalid':
      return answer.why;
    case 'cancelled':
      return 'it was not waited for';
  }
}
