import { conflict, failedPrecondition, invalidArgument, notFound } from '@cortex/contracts';
import { type Definition, ITEM_KINDS } from '@cortex/contracts/definition';
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
import type { HistoryEntry, QuarantineEntry, Waiting, Withheld } from './desk-answers.js';
import { AUTOMATIC, type CatalogState, type Item, keyOf } from './catalog-state.js';
import type { DefinitionStore, ItemName } from './definition-store.js';
import { difference } from './difference.js';
import { type Finding, observe } from './fingerprint.js';
import { Distrust, type Doubt } from './distrust.js';
import { type Integrity, TAG } from './integrity.js';
import { fits } from './known.js';

export interface DeskOptions {
  readonly integrity: Integrity;
  readonly federation: Pick<Federation, 'current' | 'shelves' | 'refresh' | 'exposedOf'>;
  readonly definitions: DefinitionStore;
  /** Where the approvals are written once more. */
  readonly file: BaselineFile | undefined;
  /** URL under which the public key can be found. */
  readonly hint?: string | undefined;
  readonly log: EdgeLog;
}

/** The texts of two definitions that differ in no field are not kept. */
const REORDERED = {
  field: 'order',
  old: null,
  new: null,
  lines: ['the same members with the same values, written in another order'],
};
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
      waiting: this.waiting(),
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

  /** By backend. */
  waiting(): Waiting[] {
    return [...this.options.integrity.waiting].map(([backend, { why, waiting }]) => ({
      backend,
      why,
      items: waiting.map(({ kind, name }) => this.#named({ backend, kind, name })),
    }));
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
    const { integrity } = this.options;
    const sign = integrity.signer(item.backend);
    const { kind, name } = item;
    const command = { type: 'Acknowledge' as const, kind, name, by, ...(digest && { digest }), ...(sign && { sign }) };
    const changed = integrity.states.get(item.backend)?.items[keyOf(item)]?.held?.changed ?? [];
    await this.#assertBelieved(item.backend);
    await integrity.execute(item.backend, command);
    await this.#inForce(item.backend);
    return this.#decided({ acknowledged: labelOf(item), app: item.backend, changed });
  }

  /** Makes an earlier approved definition the approved one again. Errors: as `acknowledge`, `invalid_argument` (digest). */
  async rollBack(tool: string, digest: string, by: string) {
    this.#assertDecidable();
    const item = await this.#find(tool);
    const { integrity, definitions } = this.options;
    await this.#assertBelieved(item.backend);
    const history = await definitions.of(item, await integrity.seqOf(item.backend));
    const known = history.find((one) => one.digest === digest);
    if (known === undefined)
      throw invalidArgument('digest', 'is of no definition that this item had', 'take one of cortex tools history');
    const sign = integrity.signer(item.backend);
    const { kind, name } = item;
    const definition = { digest, fields: known.fields, order: '' };
    await integrity.execute(item.backend, { type: 'RollBack', kind, name, definition, by, ...(sign && { sign }) });
    await this.#inForce(item.backend);
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
    const { items, restarted } = await this.#state(item.backend);
    const { approved = null, past = [] } = integrity.withholds(item.backend) ? {} : (items[keyOf(item)] ?? {});
    return {
      tool: labelOf(item),
      definitions: known.map(({ digest, fields, first_seen_at, approved_at, approved_by: by }, n) => {
        const inForce = approved?.digest === digest;
        const before = past.filter((one) => one.digest === digest && one.by !== by);
        const anew = inForce && restarted?.why === 'start_over' && by === AUTOMATIC;
        return {
          digest,
          firstSeenAt: first_seen_at.toISOString(),
          ...(approved_at && { approvedAt: approved_at.toISOString() }),
          ...(by !== null && { by }),
          inForce,
          ...(anew && approved.since >= restarted.at && { startedOverBy: restarted.by }),
          ...(before.length > 0 && { approvedBefore: before.map(({ since, by: who }) => ({ at: since, by: who })) }),
          diff: difference(item.kind, known[n + 1]?.fields, fields),
        };
      }),
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

  /** At the start, before anything of a backend is looked at. Never throws. */
  async open(): Promise<void> {
    const { integrity, federation } = this.options;
    await this.#adoptFile();
    await integrity.open(federation.shelves.keys());
  }

  /** A baseline that an operator signed elsewhere and put into the file: in force at the start, unless it is already. */
  async #adoptFile(): Promise<void> {
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

  /** Has a decision count, also where the backend is away and nothing of it is looked at again. */
  async #inForce(backend: string): Promise<void> {
    await this.options.federation.refresh(backend);
    await this.options.integrity.load(backend);
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
    for (const [id, { items }] of integrity.states)
      for (const { kind, name } of Object.values(items))
        if (kind === 'tool' && federation.exposedOf(id, name) === tool) return { backend: id, kind, name };
    const cut = tool.indexOf('/');
    const [backend, rest] = [tool.slice(0, Math.max(0, cut)), tool.slice(cut + 1)];
    const items = integrity.states.get(backend)?.items;
    if (items?.[keyOf({ kind: 'tool', name: rest })]) return { backend, kind: 'tool', name: rest };
    const kind = ITEM_KINDS.find((one) => rest.startsWith(`${one}/`));
    const name = rest.slice((kind?.length ?? 0) + 1);
    if (kind !== undefined && items?.[keyOf({ kind, name })]) return { backend, kind, name };
    // Nothing of it is known by name then.
    if (integrity.withholds(backend) || integrity.waiting.has(backend)) await this.#assertBelieved(backend);
    const held = this.quarantined().map((entry) => entry.exposed ?? entry.tool);
    const fix = held.length === 0 ? 'nothing is quarantined' : `quarantined are: ${held.slice(0, 50).join(', ')}`;
    throw notFound('tool', `${JSON.stringify(tool.slice(0, 200))} is unknown`, fix, { details: { quarantined: held } });
  }

  #named({ backend, kind, name }: ItemName): Pick<QuarantineEntry, 'tool' | 'exposed'> {
    const exposed = kind === 'tool' ? this.options.federation.exposedOf(backend, name) : undefined;
    return { tool: labelOf({ backend, kind, name }), exposed: exposed ?? null };
  }

  #entry(backend: string, item: Item, findings: readonly Finding[]): QuarantineEntry {
    const { kind, name, approved, held, seen } = item;
    if (held === null || seen === null) throw new Error('an item that is not held has no entry');
    const fields = difference(kind, approved?.fields, seen.fields);
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
      fields: fields.length === 0 && held.reasons.includes('reordered') ? [REORDERED] : fields,
      findings,
    };
  }
}

const degraded = ({ why, fix }: Doubt): Error =>
  failedPrecondition('baseline', `is degraded: ${why}`, fix, { reason: 'invalid_state' });
const labelOf = ({ backend, kind, name }: ItemName): string => documentKey(backend, kind, name);
