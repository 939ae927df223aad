import { isCortexError } from '@cortex/contracts';
import type { DefinitionEvent } from '@cortex/contracts/definition';
import type { EventStore, Executed } from '@cortex/eventstore';
import { ownCommit } from '@cortex/service-kit/own-commit';
import type { EdgeLog } from '../../seams.js';
import type { Backend, Declared, Review, Reviewed } from '../types.js';
import { catalog, type CatalogCommand, MAX_GONE } from './catalog.decider.js';
import { admitted, type CatalogState, keyOf, MAX_ITEMS, type Policy, type Sign } from './catalog-state.js';
import { observe, type Observed } from './fingerprint.js';
import { reviewItem } from './review-item.js';
import { chunks, sizeOf } from './chunks.js';
import { Distrust, type Doubt } from './distrust.js';
import { Pace } from './pace.js';
import { distrust, type Keys, NO_KEY, restartSeal, sealOf, type Signing } from './seal.js';
import { isNews, isSame, offered, withheldAll } from './serve.js';
import { fits, keysOf, type Known, NONE, nothingKnown, UNFIT } from './known.js';
import { lineOf } from './told.js';
import { heard, lossOf, newestOf, type Witness } from './witness.js';

export interface IntegrityOptions {
  readonly store: Pick<EventStore, 'load' | 'execute'>;
  readonly keys: Keys;
  readonly mode: Policy['mode'];
  readonly order: Policy['order'];
  /** How often backends are asked by themselves, in milliseconds. */
  readonly everyMs: number;
  /** What beside the log knows of a backend: asked once after a start, and whenever the log has less than it had. */
  readonly witness: Witness;
  /** Why no approval can be believed, wherever it stands; undefined when nothing speaks against them. */
  readonly fault: () => Doubt | undefined;
  /** What is approved is something else now. */
  readonly changed: () => void;
  readonly log: EdgeLog;
}

/** How to get approvals that can be believed again, by who can approve. */
const ANEW: Readonly<Record<Signing, (backend: string) => string>> = {
  none: (backend) => `begin anew: cortex tools start-over ${backend} --yes`,
  'self-signed': (backend) =>
    `upload the last baseline that was signed with this key, or begin anew: cortex tools start-over ${backend} --yes`,
  operator: () => 'begin anew: upload a signed baseline',
};

/** First on every line, so that one search shows a change and what was decided about it. */
export const TAG = '[cortex/tool-integrity]';
type Adopted = Extract<CatalogCommand, { type: 'Adopt' }>['entries'];

/**
 * Compares what backends declare with what was approved, at every refresh, before anything of it is offered. The log is the only memory of
 * approvals: what cannot be read there, or cannot be believed, is no approval. Source: gateway, section 17.
 */
export class Integrity {
  readonly policy: Policy;
  readonly #known = new Map<string, Known>();
  readonly #pace: Pace;
  #verifyOnlyTold = false;

  constructor(private readonly options: IntegrityOptions) {
    const { keys, mode, order, everyMs } = options;
    this.#pace = new Pace({ everyMs });
    const operator = keys.signing === 'operator';
    // Nobody here can approve then, so that what is not approved elsewhere is held.
    this.policy = { mode: operator ? 'block' : mode, order, pendingNew: operator };
  }

  get keys(): Keys {
    return this.options.keys;
  }

  /** Backends whose approvals cannot be believed, and why. */
  get degraded(): ReadonlyMap<string, string> {
    return new Map([...this.#known].flatMap(([id, { degraded }]) => (degraded === undefined ? [] : [[id, degraded]])));
  }

  /** What an operator should know about how approvals are kept here. */
  get warnings(): string[] {
    const { signing } = this.options.keys;
    return [
      ...(this.policy.mode === 'warn' ? ['mode warn: a changed tool is served at once'] : []),
      ...(signing === 'none' ? ['unsigned: whoever can write to the log can approve'] : []),
      ...(signing === 'self-signed' ? ['self-signed: whoever has this host can approve'] : []),
    ];
  }

  /** Items of all backends that are held back without being recorded. */
  get unrecorded(): number {
    return [...this.#known.values()].reduce((sum, { beyond }) => sum + beyond, 0);
  }

  /** By backend, what is new or changed and waits until the log can be read and written again, and why it cannot. */
  get waiting(): ReadonlyMap<string, { readonly why: string; readonly waiting: readonly Observed[] }> {
    return new Map([...this.#known].flatMap(([id, { unread }]) => (unread === undefined ? [] : [[id, unread]])));
  }

  /** False while it is not known of every backend what was approved: it is looked at again soon. */
  get settled(): boolean {
    return [...this.#known.values()].every(({ seq, degraded }) => seq !== undefined || degraded !== undefined);
  }

  /** By backend, what is held back without being recorded, and how to get out. */
  get crowded(): string[] {
    return [...this.#known].flatMap(([id, { beyond }]) => (beyond === 0 ? [] : [this.#crowd(id, beyond)]));
  }

  #crowd(backend: string, beyond: number): string {
    const what = `${backend} has declared more than ${MAX_ITEMS} different names so far; new ones are held back unseen (now: ${beyond})`;
    return `${what}. Look at what it declares, then ${ANEW[this.options.keys.signing](backend)}`;
  }

  /** By backend, as of its last review here. */
  get states(): ReadonlyMap<string, CatalogState> {
    return new Map([...this.#known].map(([id, { state }]) => [id, state]));
  }

  /** Whether nothing of a backend is offered, since its approvals cannot be believed. */
  withholds(backend: string): boolean {
    return this.policy.mode === 'block' && this.#known.get(backend)?.degraded !== undefined;
  }

  /** Items of all kinds that are not offered as declared; of a backend that is held back whole all of them. */
  get heldCount(): number {
    let count = 0;
    for (const [backend, { state, declared, beyond, unread }] of this.#known)
      if (this.withholds(backend)) count += declared === undefined ? 0 : keysOf(declared).length;
      else {
        count += beyond + (unread?.waiting.length ?? 0);
        for (const { held, listed } of Object.values(state.items)) if (held !== null && listed) count++;
      }
    return count;
  }

  /**
   * What was decided about these backends before anything of them is looked at: one that is away has its quarantines all the same. Once,
   * at the start. Never throws.
   */
  async open(backends: Iterable<string>): Promise<void> {
    for (const warning of this.warnings) this.#tell('warn', {}, warning);
    await Promise.all(
      [...backends].map((id) => this.load(id).catch((error: unknown) => this.#doubted(id, this.#of(id), error))),
    );
  }

  /** Never throws: whatever goes wrong, the answer is what may be offered all the same. */
  readonly review: Review = async (backend, declared) => {
    const observed = this.#reviewable(backend, declared);
    const known = this.#of(backend.id);
    try {
      const state = await this.#recorded(backend.id, observed, declared);
      this.#believed(backend.id, known);
      return this.#answer(known, declared, observed, state);
    } catch (error) {
      return this.#without(backend, declared, observed, known, error);
    }
  };

  /**
   * What may be offered by what the log says now, and nothing is recorded: for what other instances decided. Were it recorded, two that are
   * served different definitions would never come to rest.
   */
  readonly look: Review = async (backend, declared) => {
    const known = this.#of(backend.id);
    const { reviewed } = known;
    // Where a change approves itself, a declaration of before the change would be held until the next refresh.
    if (this.policy.mode === 'warn' && reviewed !== undefined) return reviewed;
    const observed = this.#reviewable(backend, declared);
    try {
      const state = await this.load(backend.id);
      this.#believed(backend.id, known);
      return this.#answer(known, declared, observed, state);
    } catch (error) {
      return this.#without(backend, declared, observed, known, error);
    }
  };

  /** The newest approvals of a backend. Errors: `unavailable`; `Distrust` when they cannot be believed. */
  async load(backend: string): Promise<CatalogState> {
    const { store, keys, witness, fault } = this.options;
    const known = this.#of(backend);
    // Before the log, so that this has whatever the witness has. What is folded on from there can lose nothing unseen.
    const testimonies = known.seq === undefined ? await heard(witness, backend) : undefined;
    const { state, seq, unknown } = await store.load(catalog, null, backend);
    if (testimonies === undefined && (state.lost !== null || seq < (known.seq ?? 0))) {
      known.seq = undefined;
      return this.load(backend);
    }
    const broken = fault();
    if (broken !== undefined) throw new Distrust(broken.why, broken.fix, state);
    if (unknown !== undefined)
      throw new Distrust(`${unknown.type} was written by a newer release`, 'upgrade this one', state);
    const why = (testimonies && lossOf(state, testimonies)) ?? distrust(backend, state, keys);
    if (why !== undefined) {
      const first = why.endsWith(NO_KEY) ? 'set the key again that it was approved with' : 'restore the log';
      throw new Distrust(why, `${first}, or ${ANEW[keys.signing](backend)}`, state);
    }
    known.seq = seq;
    const changed = known.state !== state;
    known.state = state;
    if (changed) this.#noteApproved();
    return state;
  }

  /** Of the newest commit about a backend. */
  async seqOf(backend: string): Promise<number> {
    return (await this.options.store.load(catalog, null, backend)).seq;
  }

  /** Makes a commit about a backend, and says in the log what it was. */
  async execute(backend: string, command: CatalogCommand): Promise<Executed> {
    const executed = await this.options.store.execute(catalog, null, backend, command, ownCommit('mcp-edge'));
    for (const event of executed.events) this.#told(backend, event as unknown as DefinitionEvent);
    if (command.type !== 'Review') this.#pace.forget(backend);
    return executed;
  }

  /** For approvals made here; undefined where no private key is configured. */
  signer(backend: string): Sign | undefined {
    const { privateKey } = this.options.keys;
    if (privateKey === undefined) return undefined;
    const at = new Date().toISOString();
    return (kind, name, digest) => sealOf(privateKey, backend, { kind, name }, digest, at);
  }

  /** Ends all approvals of a backend; what it serves at the next review is approved. */
  startOver(backend: string, by: string): Promise<void> {
    return this.#restart(backend, 'start_over', by);
  }

  /** The approvals of a signed baseline in place of all there were. */
  async adopt(backend: string, entries: Adopted, by: string): Promise<void> {
    await this.#restart(backend, 'signed_baseline', by);
    for (const part of chunks(entries, ({ name, definition }) =>
      sizeOf(name, JSON.stringify(definition.fields).length),
    ))
      if (part.length > 0) await this.execute(backend, { type: 'Adopt', entries: part, by });
  }

  async #restart(backend: string, why: 'start_over' | 'signed_baseline', by: string): Promise<void> {
    const { privateKey } = this.options.keys;
    const now = new Date().toISOString();
    // By a clock that was ahead it would count as decided after this.
    const until = newestOf(await heard(this.options.witness, backend));
    const seal = privateKey && restartSeal(privateKey, backend, now);
    await this.execute(backend, { type: 'Restart', why, by, ...(until > now && { until }), ...(seal && { seal }) });
  }

  async #recorded(backend: string, observed: readonly Observed[], declared: Declared): Promise<CatalogState> {
    const before = await this.load(backend);
    const all = new Set(keysOf(declared));
    const kept = admitted(before.items, observed);
    this.#noteCrowd(backend, observed.length - kept.length);
    const touched = kept.filter((one) => {
      const key = keyOf(one);
      const item = before.items[key];
      const events = reviewItem(item, one, this.policy);
      return events.length > 0 && this.#pace.takes(backend, key, item, events);
    });
    const gone = Object.entries(before.items).filter(([key, { listed }]) => listed && !all.has(key)).length;
    if (touched.length === 0 && gone === 0) return before;
    this.#noteFirst(backend, before);
    const { policy } = this;
    const sign = this.signer(backend);
    const base = { type: 'Review' as const, policy, ...(sign && { sign }) };
    const parts = chunks(touched, ({ name, bytes }) => sizeOf(name, bytes));
    for (const [n, part] of parts.entries())
      await this.execute(backend, { ...base, observed: part, ...(n === parts.length - 1 && { all }) });
    for (let left = gone - MAX_GONE; left > 0; left -= MAX_GONE)
      await this.execute(backend, { ...base, observed: [], all });
    return this.load(backend);
  }

  /** Told when it begins. */
  #noteCrowd(backend: string, beyond: number): void {
    const known = this.#of(backend);
    if (known.beyond === 0 && beyond > 0) this.#tell('warn', { backend }, this.#crowd(backend, beyond));
    known.beyond = beyond;
  }

  #noteFirst(backend: string, { items, restarted }: CatalogState): void {
    const { signing } = this.options.keys;
    if (signing === 'operator' && !this.#verifyOnlyTold) {
      this.#verifyOnlyTold = true;
      this.#tell('info', {}, 'only signed baselines approve anything here; this gateway verifies and holds back');
    } else if (signing !== 'operator' && Object.keys(items).length === 0 && restarted === null)
      this.#tell(
        'warn',
        { backend },
        'nothing of this backend was approved before: what it declares now becomes the baseline',
      );
  }

  /** The log is away, or what it says cannot be believed. */
  #without(
    backend: Backend,
    declared: Declared,
    observed: readonly Observed[],
    known: Known,
    error: unknown,
  ): Reviewed {
    this.#doubted(backend.id, known, error);
    if (this.policy.mode === 'warn') {
      const { policy } = this;
      const review = { type: 'Review' as const, observed, policy };
      // In memory alone: an approval that is not in the log ends with this refresh.
      const state = catalog.decide(review, known.state).reduce(foldNow, known.state);
      return this.#answer(known, declared, observed, state, known.state);
    }
    if (known.degraded !== undefined) return this.#same(known, declared, known.state, () => withheldAll(declared));
    // What was approved before the log went away is offered word by word, and nothing else.
    const waiting = observed.filter((one) => isNews(known.state.items[keyOf(one)], one));
    if (known.unread !== undefined) known.unread = { ...known.unread, waiting };
    return this.#answer(known, declared, observed, known.state);
  }

  #doubted(backend: string, known: Known, error: unknown): void {
    if (error instanceof Distrust) {
      if (known.degraded !== error.message)
        this.#tell('error', { backend }, `the baseline is degraded: ${error.message}`);
      known.degraded = error.message;
      known.unread = undefined;
      return;
    }
    const why = isCortexError(error) ? error.message : String(error);
    if (known.unread?.why !== why)
      this.#tell('warn', { backend, err: error }, `the baseline cannot be read now (${why}); nothing new is offered`);
    known.unread = { why, waiting: known.unread?.waiting ?? [] };
  }

  #believed(backend: string, known: Known): void {
    known.unread = undefined;
    if (known.degraded === undefined) return;
    known.degraded = undefined;
    this.#tell('warn', { backend }, 'the baseline can be believed again');
    this.#noteApproved();
  }

  /** What cannot be believed is written down nowhere else. */
  #noteApproved(): void {
    if (this.degraded.size === 0) this.options.changed();
  }

  #answer(
    known: Known,
    declared: Declared,
    observed: readonly Observed[],
    state: CatalogState,
    keep = state,
  ): Reviewed {
    return this.#same(known, declared, keep, () => offered(declared, observed, state));
  }

  /** The same object while nothing is different, so that a refresh that met nothing new costs nobody anything. */
  #same(known: Known, declared: Declared, state: CatalogState, make: () => Reviewed): Reviewed {
    const made = make();
    const { reviewed } = known;
    known.state = state;
    known.declared = declared;
    if (reviewed !== undefined && isSame(reviewed, made)) return reviewed;
    return (known.reviewed = made);
  }

  #reviewable(backend: Backend, declared: Declared): Observed[] {
    const all = observe(declared);
    const fit = all.filter(fits);
    const known = this.#of(backend.id);
    const before = known.unfit;
    if (fit.length === all.length) known.unfit = NONE;
    else {
      const unfit = all.filter((one) => !fits(one));
      known.unfit = new Set(unfit.map(keyOf));
      const fresh = unfit.filter((one) => !before.has(keyOf(one)));
      const items = fresh.slice(0, 10).map(({ kind, name }) => `${kind} ${name.slice(0, 128)}`);
      if (fresh.length > 0) this.#tell('warn', { backend: backend.id, count: fresh.length, items }, UNFIT);
    }
    return fit;
  }

  #of(backend: string): Known {
    const known = this.#known.get(backend) ?? nothingKnown();
    this.#known.set(backend, known);
    return known;
  }

  #told(backend: string, event: DefinitionEvent): void {
    const { level, fields, text } = lineOf(backend, event, this.policy.mode);
    this.options.log[level](fields, `${TAG} ${text}`);
  }

  #tell(level: 'info' | 'warn' | 'error', fields: object, text: string): void {
    this.options.log[level](fields, `${TAG} ${text}`);
  }
}

const foldNow = (state: CatalogState, event: DefinitionEvent): CatalogState =>
  catalog.evolve(state, {
    ...event,
    at: new Date().toISOString(),
    actor: { kind: 'system', id: 'mcp-edge' },
    workspace: '_',
    version: 1,
  });
