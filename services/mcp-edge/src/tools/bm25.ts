/** Ranks tools for a query. Source: workspace-tools-2, section 3.1. */
export interface Searchable {
  name: string;
  description: string;
  /** Names of the top-level arguments. */
  keys: readonly string[];
}

const K1 = 1.2;
const B = 0.75;
const DELTA = 1;
const WEIGHT = { name: 6, label: 4, toolPart: 4, serverPart: 2, description: 2, key: 1 };
const BRIDGED = /^mcp__(.+?)__(.+)$/;

/** Words of a text or an identifier, lower case, without accents; no stemming and no stop words. */
export function tokens(text: string): string[] {
  return text
    .normalize('NFD')
    .replace(/(\p{Script=Latin})\p{M}+/gu, '$1')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/([\p{Ll}\p{Nd}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Nd})(\p{L})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

/** A name as a person would write it. */
export const labelOf = (name: string): string =>
  name
    .replace(/^mcp__/, '')
    .replace(/_+/g, ' ')
    .trim();

interface Document {
  name: string;
  frequency: ReadonlyMap<string, number>;
  length: number;
}

function documentOf({ name, description, keys }: Searchable): Document {
  const frequency = new Map<string, number>();
  let length = 0;
  const add = (text: string, weight: number) => {
    for (const token of tokens(text)) {
      frequency.set(token, (frequency.get(token) ?? 0) + weight);
      length += weight;
    }
  };
  add(name, WEIGHT.name);
  add(labelOf(name), WEIGHT.label);
  const [, server, tool] = BRIDGED.exec(name) ?? [];
  if (tool !== undefined) add(tool, WEIGHT.toolPart);
  if (server !== undefined) add(server, WEIGHT.serverPart);
  add(description, WEIGHT.description);
  for (const key of keys) add(key, WEIGHT.key);
  return { name, frequency, length };
}

export interface Hit {
  name: string;
  score: number;
}

/** An index over the whole catalogue; built once per version of it. */
export class Bm25 {
  readonly #documents: readonly Document[];
  readonly #idf = new Map<string, number>();
  readonly #averageLength: number;

  constructor(tools: readonly Searchable[]) {
    this.#documents = tools.map(documentOf);
    const total = this.#documents.length;
    this.#averageLength = this.#documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, total);
    const found = new Map<string, number>();
    for (const { frequency } of this.#documents) {
      for (const token of frequency.keys()) found.set(token, (found.get(token) ?? 0) + 1);
    }
    for (const [token, df] of found) this.#idf.set(token, Math.log(1 + (total - df + 0.5) / (df + 0.5)));
  }

  /** Every tool with a score above 0, best first, equal ones by name. */
  search(query: string): Hit[] {
    const wanted = new Map<string, number>();
    for (const token of tokens(query)) wanted.set(token, (wanted.get(token) ?? 0) + 1);
    return this.#documents
      .map((document) => ({ name: document.name, score: this.#score(document, wanted) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1));
  }

  #score({ frequency, length }: Document, wanted: ReadonlyMap<string, number>): number {
    const norm = K1 * (1 - B + (B * length) / this.#averageLength);
    let score = 0;
    for (const [token, count] of wanted) {
      const tf = frequency.get(token);
      if (tf === undefined) continue;
      score += count * (this.#idf.get(token) ?? 0) * ((tf * (K1 + 1)) / (tf + norm) + DELTA);
    }
    return score;
  }
}
