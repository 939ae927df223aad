import { conflict, failedPrecondition, invalidArgument, notFound } from '@cortex/contracts';
import { type Definition, ITEM_KINDS, type ItemKind } from '@cortex/contracts/definition';
import type { EdgeLog } from '../../seams.js';
import type { Federation } from '../federation.js';
import {
  assertSigned,
  type BaselineDocument,
  definitionOf,
  documentKey,
  entriesOf,
  kindOf,
  readDocument,
  sealOfEntry,
  signDocument,
} from './baseline-document.js';
import type { BaselineFile } from './baseline-file.js';
import { type CatalogState, type Item, keyOf } from './catalog-state.js';
import type { DefinitionStore, ItemName } from './definition-store.js';
import { difference, type FieldDifference } from './difference.js';
import { type Finding, observe } from './fingerprint.js';
import { Distrust, type Doubt } from './distrust.js';
import { fits, type Integrity, TAG } from './integrity.js';

/** An item that is held back, or is served without what it asks less care for. */
export interface QuarantineEntry {
  /** `<backend>/<original>`, with the kind between them for what is no tool. */
  readonly tool: string;
  readonly app: string;
  readonly kind: ItemKind;
  readonly exposed: string | null;
  /** Of the definition that waits. */
  readonly digest: string;
  readonly approved: string | null;
  readonly changed: readonly string[];
  readonly reasons: readonly string[];
  readonly partly: boolean;
  readonly firstSeenAt: string;
  readonly fields: readonly FieldDifference[];
  readonly findings: readonly Finding[];
}

/** A backend of which everything is held back, and nothing can be approved, until its approvals can be believed again. */
export interface Withheld {
  readonly backend: string;
  /** Why, and how to get out. */
  readonly why: string;
  /** All that it declares, named as in a `QuarantineEntry`. */
  readonly items: readonly Pick<QuarantineEntry, 'tool' | 'exposed'>[];
}

export interface HistoryEntry {
  readonly digest: string;
  readonly firstSeenAt: string;
  readonly approvedAt?: string;
  readonly by?: string;
  /** Against the one before it in time. */
  readonly diff: readonly FieldDifference[];
}

export interface DeskOptions {
  readonly integrity: Integrity;
  readonly federation: Pick<Federation, 'current' | 'shelves' | 'refresh'>;
  readonly definitions: DefinitionStore;
  /** Where the approvals are written once more. */
  readonly file: BaselineFile | undefined;
  /** URL under which the public key can be found. */
  readonly hint?: string | undefined;
  readonly log: EdgeLog;
}

const NO_KEY = 'set CORTEX_BASELINE_PUBLIC_KEY to the key that baselines are signed with';

/** What operators ask and decide about definitions, whatever the way they come. Source: gateway, sections 17.6 and 17.8. */
export class IntegrityDesk {
  constructor(private readonly options: DeskOptions) {}

  overview() {
    const { integrity } = this.options;
    const { degraded, states, policy, keys } = integrity;
    let trackedTools = 0;
    for (const { items } of states.values())
      for (const { kind, approved } of Object.values(items)) if (kind === 'tool' && approved !== null) trackedTools++;
    const why = [...degraded].map(([backend, reason]) => `${backend}: ${reason}`);
    return {
      mode: policy.mode,
      trackedTools,
      quarantined: this.quarantined(),
      withheld: this.withheld(),
      unrecorded: integrity.unrecorded,
      baseline: 'log',
      signing: keys.signing,
      degraded: why.length > 0 ? why : null,
      schemaFaults: [...this.options.federation.shelves.values()].flatMap(({ backend, badSchemas }) =>
        badSchemas.map((fault) => ({ backend: backend.id, ...fault })),
      ),
      baselineFile: this.options.file?.path ?? null,
      notes: [...integrity.warnings, ...why.map((text) => `degraded: ${text}`), ...integrity.crowded],
    };
  }

  /** By backend. */
  withheld(): Withheld[] {
    const { integrity, federation } = this.options;
    return [...integrity.degraded].flatMap(([backend, why]) => {
      if (!integrity.withholds(backend)) return [];
      const declared = federation.shelves.get(backend)?.declared;
      const items = (declared ? observe(declared) : []).map(({ kind, name }) => this.#named({ backend, kind, name }));
      return [{ backend, why, items }];
    });
  }

  /** What waits for a decision, by backend and name. */
  quarantined(): QuarantineEntry[] {
    const { integrity, federation } = this.options;
    const entries: QuarantineEntry[] = [];
    for (const [backend, { items }] of integrity.states) {
      if (integrity.withholds(backend)) continue;
      const declared = federation.shelves.get(backend)?.declared;
      const seen = new Map((declared ? observe(declared) : []).map((one) => [keyOf(one), one]));
      for (const [key, item] of Object.entries(items)) {
        if (item.held === null || item.seen === null || !item.listed) continue;
        const found = seen.get(key);
        const findings = found?.definition.digest === item.seen.digest ? found.findings : [];
        entries.push(this.#entry(backend, item, findings));
      }
    }
    return entries.sort((a, b) => (a.tool < b.tool ? -1 : 1));
  }

  /** Without a digest the definition that waits now. Errors: `not_found` (tool), `conflict` (digest), `failed_precondition`. */
  async acknowledge(tool: string, digest: string | undefined, by: string) {
    this.#assertDecidable();
    const item = await this.#find(tool);
    const { integrity, federation } = this.options;
    const sign = integrity.signer(item.backend);
    const { kind, name } = item;
    const command = { type: 'Acknowledge' as const, kind, name, by, ...(digest && { digest }), ...(sign && { sign }) };
    const changed = integrity.states.get(item.backend)?.items[keyOf(item)]?.held?.changed ?? [];
    await this.#assertBelieved(item.backend);
    await integrity.execute(item.backend, command);
    await federation.refresh(item.backend);
    return this.#decided({ acknowledged: labelOf(item), app: item.backend, changed });
  }

  /** Makes an earlier approved definition the approved one again. Errors: as `acknowledge`, `invalid_argument` (digest). */
  async rollBack(tool: string, digest: string, by: string) {
    this.#assertDecidable();
    const item = await this.#find(tool);
    const { integrity, federation, definitions } = this.options;
    await this.#assertBelieved(item.backend);
    const history = await definitions.of(item, await integrity.seqOf(item.backend));
    const known = history.find((one) => one.digest === digest);
    if (known === undefined)
      throw invalidArgument('digest', 'is of no definition that this item had', 'take one of cortex tools history');
    const sign = integrity.signer(item.backend);
    const { kind, name } = item;
    const definition = { digest, fields: known.fields, order: '' };
    await integrity.execute(item.backend, { type: 'RollBack', kind, name, definition, by, ...(sign && { sign }) });
    await federation.refresh(item.backend);
    return this.#decided({ rolledBack: labelOf(item), app: item.backend, digest });
  }

  /** Ends all approvals of a backend, for a baseline that cannot be believed. Errors: `not_found` (backend), `failed_precondition`. */
  async startOver(backend: string, by: string) {
    this.#assertDecidable();
    this.#assertFileBelieved();
    const { integrity, federation } = this.options;
    const shelf = federation.shelves.get(backend);
    if (shelf === undefined) throw notFound('backend', 'is not configured', 'name one of CORTEX_BACKENDS');
    await federation.refresh(backend);
    // Whatever it says when it comes back would be the first that is seen of it, and approved by that.
    if (shelf.healthy !== true)
      throw failedPrecondition(
        'backend',
        `does not answer (${shelf.problem}), so there is nothing to begin anew with`,
        'have it answer, and look at what it declares',
        { reason: 'invalid_state' },
      );
    const { declared } = shelf;
    await integrity.startOver(backend, by);
    // What it declared then, and not what it says to the next question.
    await integrity.review(shelf.backend, declared);
    await federation.refresh(backend);
    return this.#decided({ startedOver: backend });
  }

  async history(tool: string): Promise<{ tool: string; definitions: HistoryEntry[] }> {
    const item = await this.#find(tool);
    const { integrity, definitions } = this.options;
    const known = await definitions.of(item, await integrity.seqOf(item.backend));
    return {
      tool: labelOf(item),
      definitions: known.map((one, n) => ({
        digest: one.digest,
        firstSeenAt: one.first_seen_at.toISOString(),
        ...(one.approved_at && { approvedAt: one.approved_at.toISOString() }),
        ...(one.approved_by !== null && { by: one.approved_by }),
        diff: difference(item.kind, known[n + 1]?.fields ?? {}, one.fields),
      })),
    };
  }

  /** A baseline with every definition that is declared now, unsigned but in self-signed mode: to be reviewed, and signed elsewhere. */
  proposal(): BaselineDocument {
    const { integrity, federation, hint } = this.options;
    const { publicKey, privateKey } = integrity.keys;
    const document: BaselineDocument = {
      version: 2,
      savedAt: new Date().toISOString(),
      tools: {},
      items: {},
      quarantine: {},
    };
    const enter = (app: string, { kind, name }: Pick<Item, 'kind' | 'name'>, definition: Definition, since: string) => {
      const { fields, digest } = definition;
      const entry = { app, name, firstSeenAt: since, fields: { ...fields }, digest };
      if (kind === 'tool') document.tools[documentKey(app, kind, name)] = entry;
      else document.items[documentKey(app, kind, name)] = { ...entry, kind };
    };
    for (const [app, { items }] of integrity.states) {
      if (integrity.degraded.has(app)) {
        // Nothing was taken in of what it declares.
        const declared = federation.shelves.get(app)?.declared;
        for (const one of declared ? observe(declared).filter(fits) : [])
          enter(app, one, one.definition, document.savedAt);
        continue;
      }
      for (const item of Object.values(items)) {
        const { seen, approved, held, listed } = item;
        const definition = seen ?? approved;
        if (definition === null || !listed) continue;
        enter(app, item, definition, approved?.since ?? held?.since ?? document.savedAt);
        if (held === null) continue;
        const key = documentKey(app, item.kind, item.name);
        const { changed, reasons, since } = held;
        document.quarantine[key] = { tool: key, app, changed: [...changed], reasons: [...reasons], firstSeenAt: since };
      }
    }
    if (publicKey === undefined || privateKey === undefined) return document;
    return signDocument(document, { key: privateKey, publicKey, level: 'self-signed', at: document.savedAt, hint });
  }

  /** Takes a signed baseline over, whole. Errors: `invalid_argument` (baseline), `failed_precondition` without a key or while the file cannot be believed. */
  async adopt(value: unknown) {
    const { integrity, federation } = this.options;
    const { publicKey } = integrity.keys;
    if (publicKey === undefined)
      throw failedPrecondition('baseline', 'cannot be verified, no key is configured', NO_KEY);
    this.#assertFileBelieved();
    const document = readDocument(value);
    assertSigned(document, publicKey);
    const by = `signed baseline of ${document.savedAt}`;
    const backends = new Set([...federation.shelves.keys(), ...entriesOf(document).map(([, { app }]) => app)]);
    const newest = await this.#newestSeal(backends);
    if (document.savedAt < newest)
      throw conflict('baseline', `was signed before the one in force (${newest})`, 'sign what is to be in force now', {
        reason: 'invalid_state',
      });
    for (const backend of backends) {
      const entries = entriesOf(document)
        .filter(([, { app }]) => app === backend)
        .map(([, entry]) => ({
          kind: kindOf(entry),
          name: entry.name,
          definition: definitionOf(entry),
          seal: sealOfEntry(entry),
        }));
      // What it does not name is not approved any more.
      await integrity.adopt(backend, entries, by);
      if (federation.shelves.has(backend)) await federation.refresh(backend);
    }
    return this.#decided({ adopted: entriesOf(document).length, savedAt: document.savedAt });
  }

  /** A baseline that an operator signed elsewhere and put into the file: in force at the start, unless it is already. Never throws. */
  async adoptFile(): Promise<void> {
    const { file, log } = this.options;
    const document = file?.signedElsewhere;
    if (document === undefined) return;
    try {
      const backends = new Set(entriesOf(document).map(([, { app }]) => app));
      if (document.savedAt !== (await this.#newestSeal(backends))) await this.adopt(document);
    } catch (error) {
      log.warn({ err: error }, `${TAG} the signed baseline in the file was not taken over`);
    }
  }

  /** When the newest approval was signed; empty where none was. */
  async #newestSeal(backends: ReadonlySet<string>): Promise<string> {
    const states = await Promise.all([...backends].map((id) => this.#state(id)));
    return states
      .flatMap(({ items, restarted }) => [
        restarted?.dropped ?? '',
        ...Object.values(items).map(({ sealed }) => sealed),
      ])
      .reduce((max, sealed) => (max > sealed ? max : sealed), '');
  }

  /** Also of a baseline that cannot be believed: a signed one replaces it. */
  async #state(backend: string): Promise<CatalogState> {
    try {
      return await this.options.integrity.load(backend);
    } catch (error) {
      if (error instanceof Distrust) return error.state;
      throw error;
    }
  }

  async #assertBelieved(backend: string): Promise<void> {
    try {
      await this.options.integrity.load(backend);
    } catch (error) {
      if (!(error instanceof Distrust)) throw error;
      throw degraded(error);
    }
  }

  /** It would hold everything back after a decision as well, and what the log knew before would be gone. */
  #assertFileBelieved(): void {
    const fault = this.options.file?.fault;
    if (fault !== undefined) throw degraded(fault);
  }

  async #decided<T extends object>(what: T) {
    await this.options.file?.flush();
    const { mode } = this.options.integrity.policy;
    const quarantined = this.quarantined().map(({ tool }) => tool);
    const withheld = this.withheld().map(({ backend }) => backend);
    return { ...what, mode, quarantined, ...(withheld.length > 0 && { withheld }) };
  }

  #assertDecidable(): void {
    if (this.options.integrity.keys.signing === 'operator')
      throw failedPrecondition('baseline', 'is signed by an operator elsewhere', 'sign a proposal and upload it', {
        reason: 'invalid_state',
        details: { word: 'operator_signed' },
      });
  }

  /** By exposed name, `<backend>/<original>`, or `<backend>/<kind>/<name>`. */
  async #find(tool: string): Promise<ItemName> {
    const { integrity, federation } = this.options;
    const exposed = federation.current.tools.find((one) => one.exposed === tool);
    if (exposed) return { backend: exposed.backend.id, kind: 'tool', name: exposed.original };
    const cut = tool.indexOf('/');
    const [backend, rest] = [tool.slice(0, Math.max(0, cut)), tool.slice(cut + 1)];
    const items = integrity.states.get(backend)?.items;
    if (items?.[keyOf({ kind: 'tool', name: rest })]) return { backend, kind: 'tool', name: rest };
    const kind = ITEM_KINDS.find((one) => rest.startsWith(`${one}/`));
    const name = rest.slice((kind?.length ?? 0) + 1);
    if (kind !== undefined && items?.[keyOf({ kind, name })]) return { backend, kind, name };
    // Nothing of it is known by name then.
    if (integrity.withholds(backend)) await this.#assertBelieved(backend);
    const held = this.quarantined().map((entry) => entry.exposed ?? entry.tool);
    const fix = held.length === 0 ? 'nothing is quarantined' : `quarantined are: ${held.slice(0, 50).join(', ')}`;
    throw notFound('tool', `${JSON.stringify(tool.slice(0, 200))} is unknown`, fix, { details: { quarantined: held } });
  }

  #named({ backend, kind, name }: ItemName): Pick<QuarantineEntry, 'tool' | 'exposed'> {
    const { tools } = this.options.federation.current;
    const found = tools.find((one) => kind === 'tool' && one.backend.id === backend && one.original === name);
    return { tool: labelOf({ backend, kind, name }), exposed: found?.exposed ?? null };
  }

  #entry(backend: string, item: Item, findings: readonly Finding[]): QuarantineEntry {
    const { kind, name, approved, held, seen } = item;
    if (held === null || seen === null) throw new Error('an item that is not held has no entry');
    return {
      ...this.#named({ backend, kind, name }),
      app: backend,
      kind,
      digest: seen.digest,
      approved: approved?.digest ?? null,
      changed: held.changed,
      reasons: held.reasons,
      partly: held.partly,
      firstSeenAt: held.since,
      fields: difference(kind, approved?.fields ?? {}, seen.fields),
      findings,
    };
  }
}

const degraded = ({ why, fix }: Doubt): Error =>
  failedPrecondition('baseline', `is degraded: ${why}`, fix, { reason: 'invalid_state' });
const labelOf = ({ backend, kind, name }: ItemName): string => documentKey(backend, kind, name);
