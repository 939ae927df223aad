import type { CatalogReader } from '../seams.js';
import type { Federation } from './federation.js';
import type { FederatedCatalog } from './types.js';

/** Sorted scopes of everything that is offered now: tools, prompts, resources and templates. Worked out once per change of it. */
export function offeredScopes(
  catalog: Pick<CatalogReader, 'scopes' | 'version'>,
  federation: Pick<Federation, 'current'>,
): () => readonly string[] {
  let made: { version: number; current: FederatedCatalog; scopes: readonly string[] } | undefined;
  return () => {
    const { version } = catalog;
    const { current } = federation;
    if (made?.version !== version || made.current !== current) {
      const items = [...current.prompts, ...current.resources, ...current.templates];
      const scopes = new Set([...catalog.scopes(), ...items.map(({ scope }) => scope)]);
      made = { version, current, scopes: [...scopes].sort() };
    }
    return made.scopes;
  };
}
