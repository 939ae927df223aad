import { Worker } from 'node:worker_threads';
import { dialectOf, isOld, mapKeyword, type Schema, type SchemaObject } from './keywords.js';
import { besideReferences, IDENTIFIERS } from './step.js';
import type { WorkerAnswer, WorkerFault, WorkerTask } from './validation-worker.js';

export type Verdict =
  | { readonly kind: 'fits' }
  | { readonly kind: 'misfit'; readonly faults: readonly WorkerFault[] }
  /** Neither: it took too long, or the schema does not compile. */
  | { readonly kind: 'unchecked'; readonly why: string };

export interface ValidatorOptions {
  /** Milliseconds for one check. */
  readonly limitMs?: number;
}

const LIMIT_MS = 50;
/** For making a schema ready, once: it is compiled. */
const PREPARE_MS = 5_000;
/** How long a schema is left alone whose check did not end. */
const REST_MS = 60_000;
/** Checks that may wait for their turn. */
const MAX_WAITING = 1_000;
const MEMORY_MB = 256;

const FITS: Verdict = { kind: 'fits' };

/**
 * Checks values by schemas of backends: one at a time, in a thread that is ended when a check takes longer than its limit, since a pattern or
 * a schema may be written to never end (threat T95). Nothing of the edge waits meanwhile but the calls that asked.
 */
export class Validator {
  #worker: Worker | undefined;
  #answered: ((answer: WorkerAnswer | undefined) => void) | undefined;
  /** Of this worker: schemas that it has. */
  #prepared = new Set<number>();
  readonly #ids = new Map<string, number>();
  readonly #resting = new Map<number, number>();
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #serial = 0;
  #closed = false;
  readonly #limitMs: number;

  constructor({ limitMs = LIMIT_MS }: ValidatorOptions = {}) {
    this.#limitMs = limitMs;
  }

  /** `schema` is the compact text of one that passed `checkSchema`, `value` JSON text. Never rejects. */
  async check(schema: string, value: string): Promise<Verdict> {
    const id = this.#idOf(schema);
    if ((this.#resting.get(id) ?? 0) > Date.now())
      return unchecked('the last check by this schema did not end in time');
    if (this.#closed || this.#waiting >= MAX_WAITING) return unchecked('too many checks wait');
    this.#waiting++;
    const verdict = this.#turn.then(() => this.#checked(id, schema, value));
    this.#turn = verdict;
    try {
      return await verdict;
    } finally {
      this.#waiting--;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  async #checked(id: number, schema: string, value: string): Promise<Verdict> {
    if (this.#closed) return unchecked('the server is stopping');
    const ready = await this.#prepare(id, schema);
    if (ready !== undefined) return ready;
    const answer = await this.#ask({ by: id, value }, this.#limitMs);
    if (answer === undefined) return this.#tooLong(id, `the check took more than ${this.#limitMs} ms`);
    if ('error' in answer) return unchecked(answer.error);
    return answer.faults.length === 0 ? FITS : { kind: 'misfit', faults: answer.faults };
  }

  async #prepare(id: number, text: string): Promise<Verdict | undefined> {
    if (this.#worker !== undefined && this.#prepared.has(id)) return undefined;
    const schema = JSON.parse(text) as SchemaObject;
    const dialect = dialectOf(schema) ?? '2020-12';
    const task = { prepare: id, dialect, schema: isOld(dialect) ? (referencesAlone(schema) as object) : schema };
    const answer = await this.#ask(task, PREPARE_MS);
    if (answer === undefined) return this.#tooLong(id, 'the schema takes too long to compile');
    if ('error' in answer) {
      this.#resting.set(id, Date.now() + REST_MS);
      return unchecked(`the schema does not compile: ${answer.error}`);
    }
    this.#prepared.add(id);
    return undefined;
  }

  #tooLong(id: number, why: string): Verdict {
    this.#resting.set(id, Date.now() + REST_MS);
    return unchecked(why);
  }

  /** Undefined: there was no answer in time, or the thread died. It is ended then, whatever it was doing. */
  async #ask(task: WorkerTask, limitMs: number): Promise<WorkerAnswer | undefined> {
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve } = Promise.withResolvers<WorkerAnswer | undefined>();
    this.#answered = resolve;
    // The answer may be there already and only wait behind this timer, when the edge itself was busy.
    const timer = setTimeout(() => setImmediate(() => setImmediate(resolve, undefined)), limitMs);
    worker.postMessage(task);
    const answer = await promise;
    clearTimeout(timer);
    this.#answered = undefined;
    if (answer === undefined) await this.#end();
    return answer;
  }

  #start(): Worker {
    const here = import.meta.url;
    const file = new URL(`./validation-worker${here.endsWith('.ts') ? '.ts' : '.js'}`, here);
    const worker = new Worker(file, {
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    this.#prepared = new Set();
    worker.unref();
    worker.on('message', (answer: WorkerAnswer) => this.#answered?.(answer));
    const gone = (): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#answered?.(undefined);
    };
    worker.on('error', gone);
    worker.on('exit', gone);
    return worker;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #idOf(schema: string): number {
    let id = this.#ids.get(schema);
    if (id === undefined) {
      if (this.#ids.size >= MAX_WAITING) this.#ids.clear();
      this.#ids.set(schema, (id = ++this.#serial));
    }
    return id;
  }
}

const unchecked = (why: string): Verdict => ({ kind: 'unchecked', why });

/** In the old dialects nothing beside a `$ref` counts, which ajv does not know any more. */
function referencesAlone(schema: Schema): Schema {
  if (typeof schema === 'boolean') return schema;
  const beside = besideReferences(schema, 'draft-07');
  const kept = Object.entries(schema).filter(
    ([keyword]) =>
      keyword in beside ||
      keyword === '$ref' ||
      keyword === '$id' ||
      (IDENTIFIERS as readonly string[]).includes(keyword),
  );
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, mapKeyword(keyword, value, referencesAlone)]));
}
