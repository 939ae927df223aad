import type { Adapter, AdapterPayload } from 'oidc-provider';
import { readJson, writeJson } from '../../home.js';

interface Entry {
  payload: AdapterPayload;
  /** Milliseconds since 1970; null: kept until it has to make room. */
  expires: number | null;
}
type Table = Map<string, Entry>;

/** What outlives a restart. The rest (a page that waits for the code, a code of one minute) begins anew. */
const KEPT: readonly string[] = ['Client', 'Grant', 'RefreshToken'];
const LIMITS: Readonly<Record<string, number>> = { Client: 200, Grant: 500, RefreshToken: 2_000 };
const LIMIT = 1_000;
/** Used refresh tokens that a grant remembers, to notice that one is used again. */
const USED_TOKENS = 20;

/** Clients, grants and refresh tokens of the issuer in one file of the home; everything else of it in memory. All bounded. */
export class IssuerStore {
  readonly #tables = new Map<string, Table>();

  constructor(
    private readonly file: string,
    tell: (text: string) => void,
    private readonly now: () => number = Date.now,
  ) {
    let kept: Record<string, Record<string, Entry>> | null = null;
    try {
      kept = readJson(file);
    } catch {
      tell(`${file} cannot be read; every client has to log in again`);
    }
    for (const model of KEPT) this.#tables.set(model, new Map(Object.entries(kept?.[model] ?? {})));
  }

  /** What the library asks for, per kind of thing. */
  readonly adapter = (model: string): Adapter => {
    const table = this.#table(model);
    const find = async (id: string) => this.#alive(table.get(id));
    const change = (edit: () => void) => {
      edit();
      if (KEPT.includes(model)) this.#save();
    };
    return {
      find,
      findByUid: async (uid) => this.#alive([...table.values()].find(({ payload }) => payload.uid === uid)),
      findByUserCode: async () => undefined, // of the device flow, which is off
      upsert: async (id, payload, seconds) =>
        change(() => {
          // Anew at the end: a table is in the order in which things were last written.
          table.delete(id);
          table.set(id, { payload, expires: seconds === undefined ? null : this.now() + seconds * 1000 });
          this.#makeRoom(model, id);
        }),
      consume: async (id) => {
        const entry = table.get(id);
        if (entry === undefined) return;
        change(() => {
          entry.payload.consumed = Math.floor(this.now() / 1000);
          forgetUsed(table, entry.payload.grantId);
        });
      },
      destroy: async (id) => change(() => table.delete(id)),
      revokeByGrantId: async (grantId) => change(() => dropGrant(table, grantId)),
    };
  };

  #table(model: string): Table {
    const table = this.#tables.get(model) ?? new Map<string, Entry>();
    this.#tables.set(model, table);
    return table;
  }

  #alive(entry: Entry | undefined): AdapterPayload | undefined {
    if (entry === undefined || (entry.expires !== null && entry.expires <= this.now())) return undefined;
    // A copy: the library changes what it is given.
    return structuredClone(entry.payload);
  }

  /** Takes away what has lapsed, then the oldest; a client whose login is in use goes last. */
  #makeRoom(model: string, added: string): void {
    const table = this.#table(model);
    const limit = LIMITS[model] ?? LIMIT;
    if (table.size <= limit) return;
    for (const [id, entry] of table) if (this.#alive(entry) === undefined) table.delete(id);
    const inUse = model === 'Client' ? this.#clientsInUse() : new Set<string>();
    const others = [...table.keys()].filter((id) => id !== added);
    const order = [...others.filter((id) => !inUse.has(id)), ...others.filter((id) => inUse.has(id))];
    for (const id of order.slice(0, Math.max(0, table.size - limit))) {
      table.delete(id);
      if (model === 'Grant') dropGrant(this.#table('RefreshToken'), id);
    }
  }

  #clientsInUse(): Set<string> {
    const grants = [...this.#table('Grant').values()].filter((entry) => this.#alive(entry) !== undefined);
    return new Set(grants.map(({ payload }) => String(payload.clientId)));
  }

  /** Before the answer: what a client was told must be there after a crash. */
  #save(): void {
    writeJson(this.file, Object.fromEntries(KEPT.map((model) => [model, Object.fromEntries(this.#table(model))])));
  }
}

function dropGrant(table: Table, grantId: string): void {
  for (const [id, { payload }] of table) if (payload.grantId === grantId) table.delete(id);
}

function forgetUsed(table: Table, grantId: string | undefined): void {
  const used = [...table].filter(([, { payload }]) => payload.grantId === grantId && payload.consumed !== undefined);
  for (const [id] of used.slice(0, -USED_TOKENS)) table.delete(id);
}
