import type { CatalogReader, CatalogTool } from '../seams.js';
import { Bm25 } from './bm25.js';

/** Names of a tool's top-level arguments. */
export function schemaKeys({ announced }: CatalogTool): string[] {
  const { properties } = announced.input_schema;
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}

const indexes = new WeakMap<CatalogReader, { version: number; index: Bm25 }>();

/** The index of a catalogue, made anew only when its version has changed. */
export function indexOf(catalog: CatalogReader): Bm25 {
  const known = indexes.get(catalog);
  if (known?.version === catalog.version) return known.index;
  const documents = catalog.all().map((tool) => ({
    name: tool.name,
    description: tool.announced.description,
    keys: schemaKeys(tool),
  }));
  const index = new Bm25(documents);
  indexes.set(catalog, { version: catalog.version, index });
  return index;
}
