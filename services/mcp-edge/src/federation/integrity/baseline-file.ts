import { readFileSync } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { EdgeLog } from '../../seams.js';
import type { Settings } from '../../settings.js';
import {
  assertSigned,
  type BaselineDocument,
  type BaselineEntry,
  documentKey,
  entriesOf,
  kindOf,
  readDocument,
  stampDocument,
} from './baseline-document.js';
import type { CatalogState } from './catalog-state.js';
import type { Doubt } from './distrust.js';
import type { Keys } from './seal.js';
import type { Testimony } from './witness.js';

export interface BaselineFileOptions {
  readonly path: string;
  readonly keys: Keys;
  /** URL under which the public key can be found. */
  readonly hint?: string | undefined;
  readonly log: EdgeLog;
  /** First on every line. */
  readonly tag: string;
}

type Blocks = Pick<BaselineDocument, 'tools' | 'items' | 'quarantine'>;

const FIX = 'restore it, or delete it, and start again';
const KEY_FIX =
  'set CORTEX_BASELINE_PRIVATE_KEY or CORTEX_BASELINE_PUBLIC_KEY again, or delete the file to go on without, and start again';
class NoKey extends Error {}

/**
 * The approvals once more, in a file: a witness beside the log, for whoever backs up or compares them, and where an operator signs elsewhere a
 * way to bring them in. What cannot be read or believed holds back everything and is never written over. Source: gateway, section 17.4.
 */
export class BaselineFile {
  /** Why nothing of it can be believed, as of the start. */
  readonly fault: Doubt | undefined;
  readonly #document: BaselineDocument | undefined;
  #blocks: Blocks;
  #written: string | undefined;
  #wanted: ReadonlyMap<string, CatalogState> | undefined;
  #running: Promise<void> | undefined;

  /** Reads what is there, before anything of a backend is looked at. */
  constructor(private readonly options: BaselineFileOptions) {
    try {
      this.#document = this.#read();
    } catch (error) {
      const fix = error instanceof NoKey ? KEY_FIX : FIX;
      this.fault = { why: `the baseline file cannot be believed (${(error as Error).message})`, fix };
    }
    const { tools = {}, items = {}, quarantine = {} } = this.#document ?? {};
    this.#blocks = { tools, items, quarantine };
    if (this.#document !== undefined) this.#written = JSON.stringify(this.#blocks);
  }

  get path(): string {
    return this.options.path;
  }

  /** What an operator signed elsewhere and put here. */
  get signedElsewhere(): BaselineDocument | undefined {
    return this.options.keys.signing === 'operator' ? this.#document : undefined;
  }

  /** What of a backend was approved when it was last written before the start. */
  testimonies(backend: string): Testimony[] {
    // A signed one may come before its backend was ever asked.
    if (this.#document === undefined || this.signedElsewhere !== undefined) return [];
    return entriesOf(this.#document)
      .filter(([, { app }]) => app === backend)
      .map(([, entry]) => ({
        kind: kindOf(entry),
        name: entry.name,
        digest: entry.digest,
        approved: true,
        at: entry.firstSeenAt,
        by: null,
        from: 'the baseline file',
      }));
  }

  /** Writes what is approved now, where that is something else than the file says. */
  save(states: ReadonlyMap<string, CatalogState>): void {
    if (this.fault !== undefined || this.options.keys.signing === 'operator') return;
    this.#wanted = states;
    this.#begin();
  }

  #begin(): void {
    this.#running ??= this.#write().finally(() => {
      this.#running = undefined;
      // Wanted between the end of the writing and this.
      if (this.#wanted !== undefined) this.#begin();
    });
  }

  /** Resolves when everything that was to be written is on the disk, or could not be written. */
  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #read(): BaselineDocument | undefined {
    const { path, keys } = this.options;
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const document = readDocument(parsed(text));
    if (keys.publicKey !== undefined) assertSigned(document, keys.publicKey);
    else if (document.signature !== undefined) throw new NoKey('it is signed, and no key is configured');
    return document;
  }

  async #write(): Promise<void> {
    const { log, path, tag } = this.options;
    while (this.#wanted !== undefined) {
      const blocks = this.#merged(this.#wanted);
      this.#wanted = undefined;
      const text = JSON.stringify(blocks);
      if (text === this.#written) continue;
      try {
        await this.#replace(JSON.stringify(this.#signed(blocks), null, 2));
        this.#blocks = blocks;
        this.#written = text;
      } catch (error) {
        log.error(
          { err: error, file: path },
          `${tag} the baseline file could not be written; tried again with the next change`,
        );
      }
    }
  }

  /** Whole or not at all: a half-written one would hold back everything. */
  async #replace(text: string): Promise<void> {
    const { path } = this.options;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(`${path}.tmp`, 'w', 0o600);
    try {
      await file.chmod(0o600);
      await file.writeFile(`${text}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.tmp`, path);
  }

  #signed(blocks: Blocks): BaselineDocument {
    const { keys, hint } = this.options;
    const document: BaselineDocument = { version: 2, savedAt: new Date().toISOString(), ...blocks };
    const { privateKey: key, publicKey } = keys;
    if (key === undefined || publicKey === undefined) return document;
    return stampDocument(document, { key, publicKey, level: 'self-signed', at: document.savedAt, hint });
  }

  /** Of backends that were not looked at since the start stays what the file said. */
  #merged(all: ReadonlyMap<string, CatalogState>): Blocks {
    const states = new Map([...all].filter(([, { items }]) => Object.keys(items).length > 0));
    const others = <T extends { app: string }>(entries: Record<string, T>) =>
      Object.fromEntries(Object.entries(entries).filter(([, { app }]) => !states.has(app)));
    const blocks: Blocks = {
      tools: others(this.#blocks.tools),
      items: others(this.#blocks.items),
      quarantine: others(this.#blocks.quarantine),
    };
    for (const [app, { items }] of states)
      for (const { kind, name, approved, held, listed } of Object.values(items)) {
        if (!listed) continue;
        const key = documentKey(app, kind, name);
        if (approved !== null) {
          const { since: firstSeenAt, fields, digest, seal } = approved;
          const entry: BaselineEntry = { app, name, firstSeenAt, fields: { ...fields }, digest, ...(seal && { seal }) };
          if (kind === 'tool') blocks.tools[key] = entry;
          else blocks.items[key] = { ...entry, kind };
        }
        if (held === null) continue;
        const { changed, reasons, since } = held;
        blocks.quarantine[key] = { tool: key, app, changed: [...changed], reasons: [...reasons], firstSeenAt: since };
      }
    return blocks;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is no JSON');
  }
}

/** As the environment names it; undefined when it names none. */
export const baselineFileOf = (
  settings: Pick<Settings, 'CORTEX_TOOL_BASELINE_FILE' | 'baselineKeys' | 'CORTEX_BASELINE_PUBLIC_KEY_HINT'>,
  log: EdgeLog,
  tag: string,
): BaselineFile | undefined => {
  const { CORTEX_TOOL_BASELINE_FILE: path, baselineKeys: keys, CORTEX_BASELINE_PUBLIC_KEY_HINT: hint } = settings;
  return path === undefined ? undefined : new BaselineFile({ path, keys, hint, log, tag });
};
